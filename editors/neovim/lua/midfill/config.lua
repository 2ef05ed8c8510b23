-- What the person has chosen. Only their own configuration reaches this: nothing is read from a project.
local M = {}

M.defaults = {
  cmd = nil, -- the server's command as a list; else `midfill serve` where `midfill` is on PATH
  filetypes = {
    "python", "javascript", "javascriptreact", "typescript", "typescriptreact", "go", "rust", "c", "cpp", "java", "lua",
    "sh", "bash", "json", "jsonc", "yaml", "toml", "html", "css", "ruby", "cs", "php", "kotlin", "swift", "markdown",
  },
  settings = {}, -- of the server: see the table in Midfill's README
  debounce = 75, -- milliseconds of rest before ghost text is asked for
  tab = true, -- <Tab> takes ghost text where some is shown, and is what it was elsewhere
  denoise = false, -- animate the drafts in place while ghost text is made
  enabled = true,
}

M.current = vim.deepcopy(M.defaults)

--- Takes the person's choices. Names a key that is not known, and leaves it out.
function M.set(options)
  local chosen = vim.deepcopy(M.defaults)
  for key, value in pairs(options or {}) do
    if M.defaults[key] == nil and key ~= "cmd" then
      vim.notify(("midfill: unknown option %q in setup"):format(key), vim.log.levels.WARN)
    else
      chosen[key] = value
    end
  end
  M.current = chosen
end

return M
