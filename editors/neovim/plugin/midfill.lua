-- Loaded at start: defines what can be typed, and requires nothing until it is used.
if vim.g.loaded_midfill then
  return
end
vim.g.loaded_midfill = true

vim.api.nvim_create_user_command("Midfill", function(command)
  require("midfill.commands").run(command)
end, {
  nargs = "*",
  range = true,
  desc = "Midfill: status, toggle, fill, holes, rewrite, denoise, log",
  complete = function(lead, line)
    return require("midfill.commands").complete(lead, line)
  end,
})

for name, action in pairs({
  Accept = "accept",
  AcceptWord = "accept_word",
  AcceptLine = "accept_line",
  Next = "next",
  Previous = "previous",
  Dismiss = "dismiss",
  Fill = "fill",
}) do
  vim.keymap.set("i", "<Plug>(Midfill" .. name .. ")", function()
    require("midfill")[action]()
  end, { desc = "Midfill: " .. action:gsub("_", " ") })
end
