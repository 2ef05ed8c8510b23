-- Pure functions of texts: what is left of an item, the next word of it, and where a text ends.
local M = {}

--- The lines of a text; every line break counts as one.
function M.lines(text)
  return vim.split((text:gsub("\r\n", "\n"):gsub("\r", "\n")), "\n", { plain = true })
end

--- The start of a text that "accept word" takes: white space and a word, or white space and what is no word.
function M.word(text)
  return text:match("^\n[ \t]*[%w_\128-\255]*") or text:match("^[ \t]*[%w_\128-\255]+") or text:match("^[ \t]*[^%w%s_\128-\255]+") or text:match("^%s+") or text
end

--- The start of a text that "accept line" takes: up to its next line break, which is taken where the text begins with it.
function M.line(text)
  return text:match("^\n[^\n]*") or text:match("^[^\n]+") or text
end

--- Row and column (bytes, from 0) behind a text that was put at a place.
function M.behind(row, column, text)
  local lines = M.lines(text)
  if #lines == 1 then
    return row, column + #lines[1]
  end
  return row + #lines - 1, #lines[#lines]
end

--- Tabs as a screen shows them: virtual text has none.
function M.shown(text, column, tabstop)
  local result, at = {}, column
  for piece, tab in text:gmatch("([^\t]*)(\t?)") do
    result[#result + 1] = piece
    at = at + vim.fn.strdisplaywidth(piece)
    if tab ~= "" then
      local width = tabstop - at % tabstop
      result[#result + 1] = (" "):rep(width)
      at = at + width
    end
  end
  return table.concat(result)
end

return M
