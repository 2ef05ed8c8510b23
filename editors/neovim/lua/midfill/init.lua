-- Midfill for Neovim: what a configuration calls, and what keys are mapped to.
local M = {}

local function native()
  local found = require("midfill.native")
  return found.available() and found or nil
end

--- Takes the person's choices and starts the server for the file types they named. See `:h midfill-setup`.
function M.setup(options)
  local config = require("midfill.config")
  config.set(options)
  vim.api.nvim_set_hl(0, "MidfillGhost", { link = "Comment", default = true })
  vim.api.nvim_set_hl(0, "MidfillSure", { link = "DiagnosticOk", default = true })
  vim.api.nvim_set_hl(0, "MidfillLikely", { link = "DiagnosticWarn", default = true })
  vim.api.nvim_set_hl(0, "MidfillDoubtful", { link = "DiagnosticError", default = true })
  vim.lsp.config("midfill", require("midfill.server").config())
  vim.api.nvim_create_autocmd("LspAttach", {
    group = vim.api.nvim_create_augroup("midfill", { clear = true }),
    callback = function(event)
      local client = vim.lsp.get_client_by_id(event.data.client_id)
      if client and client.name == "midfill" then
        local own = native()
        if own then
          own.attach(event.buf)
        else
          require("midfill.ghost").attach(event.buf)
        end
      end
    end,
  })
  vim.api.nvim_create_autocmd("VimLeavePre", {
    group = "midfill",
    callback = function()
      require("midfill.restart").stopping = true
    end,
  })
  if config.current.tab then
    require("midfill.tab").map()
  end
  require("midfill.restart").began()
  vim.lsp.enable("midfill")
end

--- Whether ghost text is shown.
function M.visible()
  return native() == nil and require("midfill.ghost").visible()
end

local function take(part)
  local own = native()
  if own then
    return own.take(part)
  end
  return require("midfill.ghost").take(part or function(left)
    return left
  end)
end

--- Takes all that is shown. False where nothing is.
function M.accept()
  return take(nil)
end

function M.accept_word()
  return take(require("midfill.text").word)
end

function M.accept_line()
  return take(require("midfill.text").line)
end

function M.next()
  (native() or require("midfill.ghost")).cycle(1)
end

function M.previous()
  (native() or require("midfill.ghost")).cycle(-1)
end

function M.dismiss()
  local own = native()
  if own then
    if require("midfill.server").client() then
      own.dismiss(vim.api.nvim_get_current_buf())
    end
    return
  end
  require("midfill.ghost").left_insert()
end

--- Asks for ghost text now, with alternatives.
function M.fill()
  if not native() then
    require("midfill.ghost").request(1)
  end
end

--- For a statusline.
function M.statusline()
  return require("midfill.status").line()
end

return M
