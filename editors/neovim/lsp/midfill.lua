-- The server in the convention of Neovim 0.11: `vim.lsp.enable("midfill")` starts it. `require("midfill").setup{}` does so, too.
return require("midfill.server").config()
