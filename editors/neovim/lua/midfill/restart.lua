-- A server that dies is started again, after a pause that grows, and the person is told once.
local M = {}

local PAUSES = { 500, 2000, 8000, 30000 } -- milliseconds
local LONG = 60000 -- a server that ran so long has not failed at its start

M.stopping = false
local failures, started, told = 0, vim.uv.now(), false

function M.began()
  started = vim.uv.now()
end

function M.ended(code, signal)
  if M.stopping or vim.v.exiting ~= vim.NIL then
    return
  end
  require("midfill.status").heard(nil)
  failures = vim.uv.now() - started > LONG and 1 or failures + 1
  local pause = PAUSES[failures]
  if not told or not pause then
    told = true
    local how = signal ~= 0 and ("signal " .. signal) or ("code " .. code)
    local next = pause and "it is started again" or "it is not started again: see :Midfill log, then :Midfill toggle"
    vim.notify(("midfill: the server ended (%s); %s"):format(how, next), vim.log.levels.WARN)
  end
  if pause then
    vim.defer_fn(function()
      M.began()
      vim.lsp.enable("midfill", false)
      vim.lsp.enable("midfill", true)
    end, pause)
  end
end

function M.reset()
  failures, told = 0, false
end

return M
