#!/bin/sh
# install.sh: makes `gov` ready to run in this folder, a source checkout or an unpacked package.
# It needs sh and npm, and never root or sudo. It writes into this folder. Where the machine's own Node is too old,
# it also stores a pinned Node below ~/.local/share/gov. It links gov on PATH only on request. A second run is quick
# and harmless.
set -eu

usage() {
  cat <<'END'
usage: ./install.sh [options]

Gets Node >= 24 if the machine's own is older, installs the packages, builds, and checks that gov starts.

  --link             also link gov into ~/.local/bin, so that `gov` is found on PATH
  --prefix DIR       as --link, but into DIR/bin
  --systemd=KIND     print a unit and change nothing; KIND is user or system for `gov plane serve`,
                     service for `gov service serve`
  --uninstall        remove the link and what was built here; keeps data, keys and settings
  --purge            with --uninstall: also the packages, the fetched Node and the caches
  --dry-run          print what would be done
  --help             this text

GOV_NODE names another Node to run with. GOV_HOME is where a fetched Node is kept (~/.local/share/gov).
See docs/how-to/install.md for services, machines without a network, and other systems.
END
}

say() { echo "install: $*" >&2; }
fail() {
  say "$*"
  exit 1
}

# run COMMAND…: runs the command, or prints it with --dry-run.
run() {
  if [ -n "$dry" ]; then echo "would run: $*"; else "$@"; fi
}

main() {
  root=$(cd "$(dirname "$0")" && pwd)
  data=${GOV_HOME:-${XDG_DATA_HOME:-${HOME:-}/.local/share}/gov}
  cache=${XDG_CACHE_HOME:-${HOME:-}/.cache}/gov
  prefix='' dry='' action=install purge='' unit=''
  options "$@"
  cd "$root"
  case $action in
    install) install ;;
    uninstall) uninstall ;;
    unit) print_unit ;;
  esac
}

options() {
  while [ $# -gt 0 ]; do
    case $1 in
      --link) prefix=${prefix:-${HOME:?expected HOME, or --prefix DIR}/.local} ;;
      --prefix)
        [ $# -ge 2 ] || usage_error "expected a folder after --prefix"
        prefix=$2
        shift
        ;;
      --prefix=?*) prefix=${1#*=} ;;
      --systemd=user | --systemd=system) action=unit unit=gov-plane.${1#*=} ;;
      --systemd=service) action=unit unit=gov-service.system ;;
      --uninstall) action=uninstall ;;
      --purge) purge=1 ;;
      --dry-run) dry=1 ;;
      -h | --help)
        usage
        exit 0
        ;;
      *) usage_error "unknown option $1" ;;
    esac
    shift
  done
  [ -z "$purge" ] || [ "$action" = uninstall ] || usage_error "--purge goes with --uninstall"
  case $prefix in '' | /*) ;; *) prefix=$PWD/$prefix ;; esac
}

usage_error() {
  say "$*. ./install.sh --help lists the options."
  exit 2
}

install() {
  [ -w . ] || fail "cannot write to $root. Copy it to a folder of your own, or give this user the right to write."
  [ -z "$prefix" ] || check_link
  if [ -n "$dry" ]; then
    node=NODE
    echo "would run: scripts/getnode, which prints NODE"
  else
    node=$(scripts/getnode)
    PATH=$(dirname "$node"):$PATH
    export PATH
  fi
  if [ -f scripts/build.ts ]; then
    packages ci --include=dev
    say "building"
    run node scripts/build.ts || fail "the build failed; see above."
  elif ! "$node" -e 'require.resolve("better-sqlite3")' 2>/dev/null; then
    packages install --omit=dev --no-package-lock
  fi
  run mkdir -p .runtime
  # A relative link for a Node inside this folder, so that the folder can be moved and copied.
  run ln -sfn "${node#"$root/.runtime/"}" .runtime/node
  [ -n "$dry" ] || version=$(bin/gov --version) || fail "gov did not start; see above."
  [ -z "$prefix" ] || link
  [ -n "$dry" ] || done_message
}

# packages VERB OPTIONS…: runs npm, unless a former run already installed the packages.
packages() {
  if [ -f package-lock.json ] && [ -n "$(find node_modules/.package-lock.json -newer package-lock.json 2>/dev/null)" ]; then
    return
  fi
  command -v npm >/dev/null || fail "expected npm on PATH, found none. It comes with Node from https://nodejs.org."
  npm_version=$(npm --version 2>/dev/null) || fail "npm does not run. Install Node >= 24, which brings its own."
  [ "${npm_version%%.*}" -ge 7 ] || fail "expected npm >= 7, got $npm_version. Run: npm install -g npm, or install Node >= 24."
  say "installing packages"
  if [ -n "$dry" ]; then
    echo "would run: npm $* --ignore-scripts"
    return
  fi
  [ -w "${HOME:-/nonexistent}" ] || export npm_config_cache="$root/.runtime/npm"
  log=$(mktemp)
  trap 'rm -f "$log"' EXIT
  if npm "$@" --ignore-scripts --no-audit --no-fund --no-update-notifier --loglevel=error >"$log" 2>&1; then return; fi
  sed '/^npm error  *at /d' "$log" | head -n 12 >&2
  case $(cat "$log") in
    *ENOTFOUND* | *EAI_AGAIN* | *ECONNREFUSED* | *ETIMEDOUT* | *ECONNRESET* | *ENETUNREACH*)
      fail "npm did not reach its registry ($(npm config get registry)). Check the network, HTTPS_PROXY, or npm's registry setting." ;;
    *CERT* | *SELF_SIGNED*) fail "npm does not trust the registry's certificate. Set NODE_EXTRA_CA_CERTS to your authority's file." ;;
    *EACCES* | *EPERM* | *EROFS*) fail "npm could not write where it has to. Check the owner of $root and of $(npm config get cache)." ;;
    *ENOSPC*) fail "the disk is full." ;;
    *) fail "npm failed; see above." ;;
  esac
}

# Replaces a link to another gov, but never a program.
check_link() {
  target=$prefix/bin/gov
  [ -e "$target" ] || [ -L "$target" ] || return 0
  case $(readlink -- "$target" || true) in
    */bin/gov) ;;
    *) fail "$target exists and is not a link to gov. Remove it, or use --prefix DIR." ;;
  esac
}

link() {
  run mkdir -p "$prefix/bin"
  run ln -sfn "$root/bin/gov" "$prefix/bin/gov"
}

done_message() {
  say "$version is ready: $root/bin/gov"
  [ -n "$prefix" ] || { say "to have it on PATH: ./install.sh --link"; return; }
  found=$(command -v gov || true)
  case $found in
    "$prefix/bin/gov") ;;
    '') say "$prefix/bin is not on PATH; add it: export PATH=\"$prefix/bin:\$PATH\"" ;;
    *) say "another gov comes first on PATH: $found" ;;
  esac
  [ -z "${GITHUB_PATH:-}" ] || echo "$prefix/bin" >>"$GITHUB_PATH"
}

uninstall() {
  target=${prefix:-${HOME:-}/.local}/bin/gov
  if [ -L "$target" ] && [ "$(readlink -- "$target")" = "$root/bin/gov" ]; then run rm -f "$target"; fi
  run rm -rf .runtime dist
  [ -z "$purge" ] || run rm -rf node_modules "$data/runtime" "$cache"
  [ -n "$dry" ] || say "removed. Data folders of planes and the settings in ~/.config/gov are kept; remove them by hand."
}

print_unit() {
  sed -e "s|@GOV@|$root/bin/gov|g" -e "s|@ROOT@|$root|g" "docs/systemd/$unit.service"
}

main "$@"
