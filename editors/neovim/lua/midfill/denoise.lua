-- The canvas in place, step by step, each slot coloured by confidence.
local M = {}

local NAMESPACE = vim.api.nvim_create_namespace("midfill.denoise")
local TOKEN = "neovim"
local SURE, LIKELY = 0.9, 0.6
local STEP = 120 -- milliseconds a frame, at least, when played on purpose

local frames, playing, place = {}, false, nil

local function highlight(slot)
  if not slot.decided then
    return "Comment"
  end
  return slot.confidence >= SURE and "MidfillSure" or slot.confidence >= LIKELY and "MidfillLikely" or "MidfillDoubtful"
end

--- The slots' pieces line by line, for an extmark.
function M.pieces(draft)
  local lines = { {} }
  for _, slot in ipairs(draft.slots) do
    for number, part in ipairs(require("midfill.text").lines(slot.text)) do
      if number > 1 then
        lines[#lines + 1] = {}
      end
      if part ~= "" then
        table.insert(lines[#lines], { part, highlight(slot) })
      end
    end
  end
  return lines
end

local function draw(draft)
  local lines = M.pieces(draft)
  local first = table.remove(lines, 1)
  for _, line in ipairs(lines) do
    if #line == 0 then
      line[1] = { "", "Comment" }
    end
  end
  vim.api.nvim_buf_clear_namespace(place.buffer, NAMESPACE, 0, -1)
  vim.api.nvim_buf_set_extmark(place.buffer, NAMESPACE, place.row, place.column, {
    virt_text = #first > 0 and first or { { "·", "Comment" } },
    virt_text_pos = "inline",
    virt_lines = #lines > 0 and lines or nil,
  })
end

local function play()
  if not place or not vim.api.nvim_buf_is_valid(place.buffer) then
    return
  end
  local draft = table.remove(frames, 1)
  if draft then
    draw(draft)
    vim.defer_fn(play, STEP)
  elseif playing then
    vim.defer_fn(play, STEP)
  else
    vim.defer_fn(M.clear, 8 * STEP)
  end
end

function M.clear()
  if place and vim.api.nvim_buf_is_valid(place.buffer) then
    vim.api.nvim_buf_clear_namespace(place.buffer, NAMESPACE, 0, -1)
  end
  place, frames = nil, {}
end

--- A draft came: of a run that was asked for, or of ghost text where the person wants to see those.
function M.heard(draft)
  if draft.token == TOKEN then
    frames[#frames + 1] = draft
  elseif require("midfill.config").current.denoise and vim.api.nvim_get_mode().mode == "i" then
    local position = vim.api.nvim_win_get_cursor(0)
    local ghost = require("midfill.ghost")
    if not ghost.visible() and draft.uri == vim.uri_from_bufnr(0) then
      ghost.draw(vim.api.nvim_get_current_buf(), position[1] - 1, position[2], draft.text, "MidfillGhost")
    end
  end
end

--- Denoises the hole at the cursor and shows how; puts nothing into the text.
function M.run()
  local buffer = vim.api.nvim_get_current_buf()
  local client = require("midfill.server").client(buffer)
  if not client then
    vim.notify("midfill: " .. require("midfill.status").message(), vim.log.levels.WARN)
    return
  end
  M.clear()
  local position = vim.api.nvim_win_get_cursor(0)
  place, playing = { buffer = buffer, row = position[1] - 1, column = position[2] }, true
  local at = vim.lsp.util.make_position_params(0, client.offset_encoding).position
  local argument = { uri = vim.uri_from_bufnr(buffer), position = at, token = TOKEN }
  client:request("workspace/executeCommand", { command = "midfill.denoise", arguments = { argument } }, function(failed, result)
    playing = false
    if failed then
      vim.notify("midfill: " .. failed.message, vim.log.levels.WARN)
    elseif result.text == "" then
      vim.notify("midfill: nothing was found that fits", vim.log.levels.INFO)
    end
  end, buffer)
  play()
end

return M
