-- `:checkhealth midfill`
local M = {}

function M.check()
  local health = vim.health
  health.start("midfill")
  if vim.fn.has("nvim-0.11") == 0 then
    health.error("Neovim 0.11 or later is needed")
    return
  end
  health.ok("Neovim " .. tostring(vim.version()))
  if require("midfill.native").available() then
    health.ok("ghost text: the editor's own inline completion")
  else
    health.ok("ghost text: extmarks, as this Neovim has no inline completion of its own")
  end
  local command = require("midfill.server").command()
  if vim.fn.executable(command[1]) == 0 then
    health.error(command[1] .. " cannot be run", { "install it: see Midfill's README", "or name it: setup{ cmd = { \"/path/to/midfill\", \"serve\" } }" })
    return
  end
  local found = vim.system({ command[1], "--version" }, { text = true, timeout = 10000 }):wait()
  health.ok(vim.trim(found.code == 0 and found.stdout or command[1]) .. " at " .. vim.fn.exepath(command[1]))
  local client = vim.lsp.get_clients({ name = "midfill" })[1]
  if client then
    health.ok("the server runs: " .. require("midfill.status").message())
  else
    health.info("the server does not run: it starts with the first file of a type in setup{ filetypes = ... }")
  end
end

return M
