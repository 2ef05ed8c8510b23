import sys
from lsp_server.serve import *
from lsp_server.settings import from_command_line

a = sys.argv[1:]
o = ServeOptions(from_command_line({"model": a[a.index("--model") + 1]}))
sys.exit(serve_tcp(*parse_address(a[a.index("--tcp") + 1]), o) if "--tcp" in a else serve_stdio(o))
