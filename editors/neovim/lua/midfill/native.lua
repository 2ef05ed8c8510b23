-- Neovim 0.12 and later: the editor's own inline completion. Checked against its documented calls; not run in it.
local M = {}

function M.available()
  return vim.lsp.inline_completion ~= nil
end

-- A filter names a buffer or a client, never both; a client is enabled unless somebody says otherwise.
function M.attach(buffer)
  vim.lsp.inline_completion.enable(true, { bufnr = buffer })
end

--- Takes what is shown. part: gives the start of the text that is taken; nil for all of it.
function M.take(part)
  if not part then
    return vim.lsp.inline_completion.get()
  end
  return vim.lsp.inline_completion.get({
    on_accept = function(item)
      local text = type(item.insert_text) == "string" and item.insert_text or item.insert_text.value
      local piece = part((text:gsub("\r\n", "\n")))
      local range = item.range -- a vim.Range, whose fields later versions name start_row and start_col
      local start = range and { range.start_row or range.start.row, range.start_col or range.start.col } or nil
      local row, column = unpack(start or { vim.fn.line(".") - 1, vim.fn.col(".") - 1 })
      local lines = require("midfill.text").lines(piece)
      local until_row, until_column = vim.fn.line(".") - 1, vim.fn.col(".") - 1
      vim.api.nvim_buf_set_text(0, row, column, until_row, until_column, lines)
      local end_row, end_column = require("midfill.text").behind(row, column, piece)
      vim.api.nvim_win_set_cursor(0, { end_row + 1, end_column })
    end,
  })
end

function M.cycle(step)
  vim.lsp.inline_completion.select({ count = step })
end

function M.dismiss(buffer)
  vim.lsp.inline_completion.enable(false, { bufnr = buffer })
  vim.lsp.inline_completion.enable(true, { bufnr = buffer })
end

return M
