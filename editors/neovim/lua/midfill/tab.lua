-- <Tab> takes ghost text where some is shown; elsewhere it is what it was before.
local M = {}

local function feed(keys, mode)
  vim.api.nvim_feedkeys(vim.api.nvim_replace_termcodes(keys, true, false, true), mode, false)
end

function M.map()
  local before = vim.fn.maparg("<Tab>", "i", false, true)
  vim.keymap.set("i", "<Tab>", function()
    if require("midfill").accept() then
      return
    end
    if vim.tbl_isempty(before) then
      feed("<Tab>", "ni")
    elseif before.callback then
      local keys = before.callback()
      if before.expr == 1 and type(keys) == "string" then
        feed(keys, before.noremap == 1 and "ni" or "mi")
      end
    else
      local keys = before.expr == 1 and vim.api.nvim_eval(before.rhs) or before.rhs
      feed(keys, before.noremap == 1 and "ni" or "mi")
    end
  end, { desc = "Midfill: take ghost text, or <Tab>" })
end

return M
