-- Ghost text of our own, for Neovim 0.11: asked for as one types, shown by extmarks, taken whole or in parts.
local text = require("midfill.text")

local M = {}

local NAMESPACE = vim.api.nvim_create_namespace("midfill")
local METHOD = "textDocument/inlineCompletion"

-- What is shown: items and which of them, for the cursor at row and column (bytes, from 0). `left`: of each item, what is
-- not there yet; `typed`: how much of it was typed or taken since it came.
local shown = nil
local pending = nil -- { client, id } of the request under way
local timer = nil

local function cursor()
  local place = vim.api.nvim_win_get_cursor(0)
  return place[1] - 1, place[2]
end

local function insert_mode()
  return vim.api.nvim_get_mode().mode:sub(1, 1) == "i"
end

--- Whether ghost text is shown at the cursor now.
function M.visible()
  return shown ~= nil and shown.buffer == vim.api.nvim_get_current_buf() and insert_mode()
end

--- What of the current item is not there yet; nil where nothing is shown.
function M.left()
  return M.visible() and shown.left[shown.index] or nil
end

function M.clear()
  if shown and vim.api.nvim_buf_is_valid(shown.buffer) then
    vim.api.nvim_buf_clear_namespace(shown.buffer, NAMESPACE, 0, -1)
  end
  shown = nil
end

local function cancel()
  if pending then
    pcall(pending.client.cancel_request, pending.client, pending.id)
  end
  pending = nil
  if timer then
    timer:stop()
  end
end

--- Draws a text at a place: its first line inline, the others below. highlights: one for all, or pieces of the first lines.
function M.draw(buffer, row, column, what, highlight)
  vim.api.nvim_buf_clear_namespace(buffer, NAMESPACE, 0, -1)
  local tabstop = vim.bo[buffer].tabstop
  local lines = text.lines(what)
  local below = {}
  for number = 2, #lines do
    below[#below + 1] = { { text.shown(lines[number], 0, tabstop), highlight } }
  end
  local start = vim.fn.strdisplaywidth(vim.api.nvim_buf_get_text(buffer, row, 0, row, column, {})[1] or "")
  vim.api.nvim_buf_set_extmark(buffer, NAMESPACE, row, column, {
    virt_text = { { text.shown(lines[1], start, tabstop), highlight } },
    virt_text_pos = "inline",
    virt_lines = #below > 0 and below or nil,
    hl_mode = "combine",
  })
end

local function show()
  M.draw(shown.buffer, shown.row, shown.column, shown.left[shown.index], "MidfillGhost")
end

--- Keeps what is shown where the person has typed into it; true if it still stands.
local function typed_on()
  if not M.visible() then
    return false
  end
  local row, column = cursor()
  local written
  if row == shown.row and column >= shown.column then
    written = vim.api.nvim_buf_get_text(shown.buffer, shown.row, shown.column, row, column, {})[1]
  elseif row > shown.row then
    written = table.concat(vim.api.nvim_buf_get_text(shown.buffer, shown.row, shown.column, row, column, {}), "\n")
  else
    return false
  end
  -- the text behind the cursor must be what it was
  if #vim.api.nvim_buf_get_lines(shown.buffer, row, row + 1, false)[1] - column ~= shown.behind then
    return false
  end
  local left = shown.left[shown.index]
  if #written >= #left or left:sub(1, #written) ~= written then
    return false
  end
  local kept = {}
  for _, one in ipairs(shown.left) do
    if #one > #written and one:sub(1, #written) == written then
      kept[#kept + 1] = one:sub(#written + 1)
    end
  end
  shown.index = 1
  for number, one in ipairs(kept) do
    if one == left:sub(#written + 1) then
      shown.index = number
    end
  end
  shown.left, shown.row, shown.column = kept, row, column
  shown.whole = shown.whole and #written == 0
  show()
  return true
end

--- What of an item is not there yet, given its range; nil where it does not go on from the text before the cursor.
local function left_of(item, buffer, encoding, row, column)
  local start = item.range and item.range.start
  if not start then
    return (item.insertText:gsub("\r\n", "\n"))
  end
  if start.line ~= row then
    return nil
  end
  local line = vim.api.nvim_buf_get_lines(buffer, row, row + 1, false)[1] or ""
  local from = vim.str_byteindex(line, encoding, start.character, false)
  local before = line:sub(from + 1, column)
  local whole = item.insertText:gsub("\r\n", "\n")
  return vim.startswith(whole, before) and whole:sub(#before + 1) or nil
end

local function answered(client, buffer, tick, row, column, failed, items)
  pending = nil
  local now_row, now_column = cursor()
  if failed or not items or buffer ~= vim.api.nvim_get_current_buf() or not insert_mode() then
    return
  end
  if tick ~= vim.api.nvim_buf_get_changedtick(buffer) or row ~= now_row or column ~= now_column then
    return -- an answer to a text that is no more
  end
  local left, commands = {}, {}
  for _, item in ipairs(items) do
    local one = left_of(item, buffer, client.offset_encoding, row, column)
    if one and one ~= "" then
      left[#left + 1] = one
      commands[#commands + 1] = item.command or false
    end
  end
  M.clear()
  if #left == 0 then
    return
  end
  local line = vim.api.nvim_buf_get_lines(buffer, row, row + 1, false)[1] or ""
  shown = {
    buffer = buffer,
    client = client,
    row = row,
    column = column,
    behind = #line - column,
    left = left,
    commands = commands,
    index = 1,
    whole = true,
  }
  show()
end

--- Asks the server now. trigger: 1 by hand, which brings alternatives, 2 by itself.
function M.request(trigger)
  local buffer = vim.api.nvim_get_current_buf()
  local client = require("midfill.server").client(buffer)
  if not client or not require("midfill.config").current.enabled or not insert_mode() then
    return
  end
  cancel()
  local row, column = cursor()
  local tick = vim.api.nvim_buf_get_changedtick(buffer)
  local params = vim.lsp.util.make_position_params(0, client.offset_encoding)
  params.context = { triggerKind = trigger }
  local sent, id = client:request(METHOD, params, function(failed, items)
    answered(client, buffer, tick, row, column, failed, items)
  end, buffer)
  if sent then
    pending = { client = client, id = id }
  end
end

--- Something was typed, or the cursor moved.
function M.changed()
  if not require("midfill.config").current.enabled then
    return
  end
  if vim.fn.pumvisible() == 1 and vim.fn.complete_info({ "selected" }).selected ~= -1 then
    M.clear() -- the menu's own choice is in the text; what would come next is not known
    return
  end
  if not typed_on() then
    M.clear()
  end
  cancel()
  timer = timer or vim.uv.new_timer()
  timer:start(require("midfill.config").current.debounce, 0, vim.schedule_wrap(function()
    M.request(2)
  end))
end

function M.left_insert()
  cancel()
  M.clear()
end

--- Takes a start of what is shown, given by `part`, as one step of undo. False where nothing is shown.
function M.take(part)
  local left = M.left()
  if not left then
    return false
  end
  local piece = part(left)
  local row, column = cursor()
  local was, lines = shown, text.lines(piece)
  local all = piece == left
  cancel()
  vim.o.undolevels = vim.o.undolevels -- what was typed before is a step of its own
  vim.api.nvim_buf_set_text(was.buffer, row, column, row, column, lines)
  local end_row, end_column = text.behind(row, column, piece)
  vim.api.nvim_win_set_cursor(0, { end_row + 1, end_column })
  vim.o.undolevels = vim.o.undolevels
  if all then
    M.clear()
    if was.whole and was.commands[was.index] then
      was.client:exec_cmd(was.commands[was.index], { bufnr = was.buffer })
    end
  else
    typed_on()
  end
  return true
end

--- Shows the next or the previous alternative; asks for some where there is but one.
function M.cycle(step)
  if not M.visible() then
    return
  end
  if #shown.left < 2 and not shown.asked then
    shown.asked = true
    M.request(1)
    return
  end
  shown.index = (shown.index - 1 + step) % #shown.left + 1
  show()
end

--- Starts to listen in a buffer.
function M.attach(buffer)
  local group = vim.api.nvim_create_augroup("midfill." .. buffer, { clear = true })
  local function on(events, what)
    vim.api.nvim_create_autocmd(events, { group = group, buffer = buffer, callback = what })
  end
  on({ "InsertEnter", "TextChangedI", "TextChangedP", "CursorMovedI" }, M.changed)
  on({ "InsertLeave", "BufLeave" }, M.left_insert)
  if buffer == vim.api.nvim_get_current_buf() and insert_mode() then
    M.changed() -- the server came, or came back, while the person was typing
  end
end

return M
