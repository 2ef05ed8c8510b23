-- How the server is started, and which of its own notifications are heard.
local M = {}

--- The command: the person's own, else the `midfill` on PATH. Never one that a project brings.
function M.command()
  local config = require("midfill.config").current
  return config.cmd or { "midfill", "serve" }
end

--- A configuration for `vim.lsp.config`.
function M.config()
  local config = require("midfill.config").current
  local settings = vim.tbl_extend("keep", config.settings, { drafts = config.denoise })
  return {
    cmd = M.command(),
    filetypes = config.filetypes,
    root_markers = { ".git", "pyproject.toml", "package.json", "go.mod", "Cargo.toml" },
    init_options = vim.empty_dict() and settings,
    settings = { midfill = settings },
    handlers = {
      ["midfill/status"] = function(_, status, context)
        require("midfill.status").heard(status, context)
      end,
      ["midfill/draft"] = function(_, draft)
        require("midfill.denoise").heard(draft)
      end,
    },
    on_exit = function(code, signal)
      vim.schedule(function()
        require("midfill.restart").ended(code, signal)
      end)
    end,
  }
end

--- The client that serves a buffer, if any.
function M.client(buffer)
  return vim.lsp.get_clients({ bufnr = buffer or 0, name = "midfill" })[1]
end

return M
