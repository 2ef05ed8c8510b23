-- `:Midfill NAME`
local M = {}

local function tell(message, level)
  vim.notify("midfill: " .. message, level or vim.log.levels.INFO)
end

local function execute(name, argument)
  local buffer = vim.api.nvim_get_current_buf()
  local client = require("midfill.server").client(buffer)
  if not client then
    tell(require("midfill.status").message(), vim.log.levels.WARN)
    return
  end
  argument.uri = vim.uri_from_bufnr(buffer)
  client:request("workspace/executeCommand", { command = name, arguments = { argument } }, function(failed, result)
    if failed then
      tell(failed.message, vim.log.levels.WARN)
    elseif result and result.message then
      tell(result.message)
    end
  end, buffer)
end

--- The protocol's range of whole lines, from 1.
local function lines(first, last)
  local client = require("midfill.server").client()
  local text = vim.api.nvim_buf_get_lines(0, last - 1, last, false)[1] or ""
  local width = vim.str_utfindex(text, client and client.offset_encoding or "utf-16", #text, false)
  return { start = { line = first - 1, character = 0 }, ["end"] = { line = last - 1, character = width } }
end

M.names = {
  status = function()
    tell(require("midfill.status").message())
  end,
  toggle = function()
    local config = require("midfill.config").current
    config.enabled = not config.enabled
    if config.enabled then
      require("midfill.restart").reset()
      if not require("midfill.server").client() then
        vim.lsp.enable("midfill", false)
        vim.lsp.enable("midfill", true)
      end
    else
      require("midfill.ghost").left_insert()
    end
    tell(config.enabled and "on" or "off")
    vim.cmd.redrawstatus()
  end,
  fill = function()
    require("midfill").fill()
  end,
  holes = function(command)
    local argument = {}
    if command.range > 0 then
      argument.ranges = { lines(command.line1, command.line2) }
    end
    execute("midfill.fillHoles", argument)
  end,
  rewrite = function(command)
    execute("midfill.rewriteSelection", { range = lines(command.line1, command.line2) })
  end,
  denoise = function()
    require("midfill.denoise").run()
  end,
  log = function()
    vim.cmd.tabedit(vim.fn.fnameescape(vim.lsp.log.get_filename()))
  end,
}

function M.complete(lead, line)
  if line:match("^%S*Midfill%s+%S+%s") then
    return {}
  end
  return vim.tbl_filter(function(name)
    return vim.startswith(name, lead)
  end, vim.fn.sort(vim.tbl_keys(M.names)))
end

function M.run(command)
  local name = command.fargs[1] or "status"
  local action = M.names[name]
  if not action or #command.fargs > 1 then
    tell("there is no :Midfill " .. command.args .. " (" .. table.concat(M.complete("", ""), ", ") .. ")", vim.log.levels.ERROR)
    return
  end
  action(command)
end

return M
