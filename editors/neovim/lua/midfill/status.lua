-- What the server is at: for the statusline, `:Midfill status` and the health check.
local M = {}

M.last = nil

function M.heard(status)
  M.last = status
  vim.cmd.redrawstatus()
end

--- A few characters for a statusline: `%{v:lua.require'midfill.status'.line()}`.
function M.line()
  local config = require("midfill.config").current
  if not config.enabled then
    return "midfill: off"
  end
  local status = M.last
  if not status then
    return ""
  end
  if status.state == "loading" and status.percentage then
    return ("midfill: %d%%"):format(status.percentage)
  end
  return "midfill: " .. status.state
end

--- One line for a person.
function M.message()
  if not require("midfill.config").current.enabled then
    return "off (:Midfill toggle switches it on)"
  end
  if not require("midfill.server").client() then
    return "no server for this buffer (:checkhealth midfill)"
  end
  local status = M.last
  return status and ("%s: %s"):format(status.state, status.message) or "starting"
end

return M
