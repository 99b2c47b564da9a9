#!/bin/sh
# install.sh: makes `gov` ready to run in this folder, a source checkout or an unpacked package; or, with --from,
# installs an archive of a release. It never needs root or sudo.
#
# In a folder it needs sh and npm, and writes there. Where the machine's own Node is too old, it also stores a pinned
# Node below ~/.local/share/gov. It links gov on PATH only on request. A second run is quick and harmless.
#
# From an archive it needs sh and tar. It checks the archive's SHA-256 before it unpacks, and stops where it has none
# to check. Versions lie side by side below ~/.local/share/gov/versions, so that --rollback is a change of one link.
set -eu

usage() {
  cat <<'END'
usage: ./install.sh [options]
       sh install.sh --from gov-VERSION-linux-x64.tar.gz [options]

Gets Node >= 24 if the machine's own is older, installs the packages, builds, and checks that gov starts.

  --from FILE        install this archive of a release, and link gov into ~/.local/bin; no network
  --sha256 HASH      the archive's checksum; default: the line for it in SHA256SUMS beside the archive
  --signers FILE     first check SHA256SUMS.sig: SSH keys that may sign a release, as `ssh-keygen -Y verify` reads them
  --rollback         use the version that was installed before
  --link             also link gov into ~/.local/bin, so that `gov` is found on PATH
  --prefix DIR       as --link, but into DIR/bin
  --systemd=KIND     print a unit and change nothing; KIND is user or system for `gov plane serve`,
                     service for `gov service serve`
  --uninstall        remove the link and what was built here; keeps data, keys and settings
  --purge            with --uninstall: also the packages, installed versions, the fetched Node and the caches
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
  prefix='' dry='' action=install purge='' unit='' archive='' sha256='' signers=''
  options "$@"
  case $action in from | rollback) ;; *) cd "$root" ;; esac
  case $action in
    install) install ;;
    from) install_archive ;;
    rollback) rollback ;;
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
      --from | --sha256 | --signers)
        [ $# -ge 2 ] || usage_error "expected a value after $1"
        value "$1" "$2"
        shift
        ;;
      --from=?* | --sha256=?* | --signers=?*) value "${1%%=*}" "${1#*=}" ;;
      --rollback) action=rollback ;;
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
  if [ "$action" != from ] && [ -n "$sha256$signers" ]; then usage_error "--sha256 and --signers go with --from"; fi
  [ -z "$purge" ] || [ "$action" = uninstall ] || usage_error "--purge goes with --uninstall"
  case $prefix in '' | /*) ;; *) prefix=$PWD/$prefix ;; esac
}

value() {
  case $1 in
    --from) action=from archive=$2 ;;
    --sha256) sha256=$2 ;;
    --signers) signers=$2 ;;
  esac
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

install_archive() {
  [ -f "$archive" ] || fail "expected an archive of a release, found no file $archive."
  case $archive in
    *-linux-*.tar.gz) ;;
    *) fail "expected gov-VERSION-linux-x64.tar.gz or -arm64.tar.gz, got ${archive##*/}. For the .tgz: npm install -g FILE" ;;
  esac
  prefix=${prefix:-${HOME:?expected HOME, or --prefix DIR}/.local}
  check_link
  check_archive
  folder=$(tar -tzf "$archive" | head -n 1 | cut -d / -f 1)
  case $folder in gov-[0-9]*) ;; *) fail "expected the folder gov-VERSION in the archive, got ${folder:-none}." ;; esac
  versions=$data/versions
  target=$versions/${folder#gov-}
  if [ -n "$dry" ]; then
    echo "would unpack: $archive into $target"
  elif [ "$(cat "$target/.sha256" 2>/dev/null)" != "$sha256" ]; then
    mkdir -p "$versions"
    partial=$versions/.$$
    trap 'rm -rf "$partial"' EXIT
    mkdir "$partial"
    tar -xzf "$archive" -C "$partial" --no-same-owner || fail "could not unpack $archive; see above. Nothing was changed."
    "$partial/$folder/bin/gov" --version >/dev/null ||
      fail "gov of this archive does not start here; see above. It needs glibc >= 2.28 and $versions mounted with exec."
    echo "$sha256" >"$partial/$folder/.sha256"
    rm -rf "$target"
    mv "$partial/$folder" "$target"
  fi
  current=$(current_version)
  if [ -n "$current" ] && [ "$current" != "$target" ]; then run ln -sfn "$current" "$versions/previous"; fi
  use_version "$target"
}

# Sets sha256 to the checksum that the archive has. Stops unless it is the expected one.
check_archive() {
  sums=$(dirname "$archive")/SHA256SUMS
  if [ -n "$signers" ]; then
    [ -f "$sums.sig" ] || fail "expected the signature $sums.sig, found none. Nothing was changed."
    signer=$(ssh-keygen -Y find-principals -f "$signers" -s "$sums.sig" 2>/dev/null | head -n 1)
    [ -n "$signer" ] || fail "expected $sums.sig to be signed by a key of $signers, it is not. Nothing was changed."
    ssh-keygen -Y verify -f "$signers" -I "$signer" -n file -s "$sums.sig" <"$sums" >&2 ||
      fail "expected $sums.sig to sign $sums, it does not. Nothing was changed."
    [ -z "$sha256" ] || usage_error "--signers reads the checksum from SHA256SUMS; leave out --sha256"
  fi
  if [ -z "$sha256" ]; then
    [ -f "$sums" ] || fail "expected $sums, or --sha256 HASH, to check the archive; found neither. Nothing was changed."
    sha256=$(awk -v name="${archive##*/}" '$2 == name || $2 == "*" name { print $1 }' "$sums")
    [ -n "$sha256" ] || fail "expected a line for ${archive##*/} in $sums, found none. Nothing was changed."
  fi
  got=$(hash_of "$archive")
  [ "$got" = "$sha256" ] || fail "expected $archive with SHA-256 $sha256, got ${got:-no hash}. Nothing was changed."
}

hash_of() {
  if command -v sha256sum >/dev/null; then
    sha256sum "$1"
  elif command -v shasum >/dev/null; then
    shasum -a 256 "$1"
  else
    openssl dgst -sha256 -r "$1"
  fi | cut -d ' ' -f 1
}

# Prints the folder of the version that the link leads to, or nothing.
current_version() {
  linked=$(readlink -- "$prefix/bin/gov" || true)
  case $linked in "$data/versions/"*/bin/gov) echo "${linked%/bin/gov}" ;; esac
}

# use_version FOLDER: links gov to this version. `mv -T` replaces the link at once, so that gov is never missing.
use_version() {
  run mkdir -p "$prefix/bin"
  run ln -sfn "$1/bin/gov" "$prefix/bin/.gov.$$"
  run mv -fT "$prefix/bin/.gov.$$" "$prefix/bin/gov"
  link_pages "$1"
  [ -n "$dry" ] || version=$("$prefix/bin/gov" --version) || fail "gov did not start; see above."
  root=$1
  [ -n "$dry" ] || done_message
}

# link_pages FOLDER: links the manual pages of this version where this machine reads pages; another version's go.
link_pages() {
  unlink_pages
  pages=$1/share/man/man1
  [ -d "$pages" ] || return 0
  [ -d "$prefix/share/man" ] || command -v man >/dev/null || return 0
  run mkdir -p "$prefix/share/man/man1"
  for page in "$pages"/*.1; do run ln -sfn "$page" "$prefix/share/man/man1/${page##*/}"; done
}

# Removes links to manual pages of installed versions, and no other file.
unlink_pages() {
  for page in "$prefix/share/man/man1/"gov.1 "$prefix/share/man/man1/"gov-*.1; do
    case $(readlink -- "$page" || true) in "$data/versions/"*) run rm -f "$page" ;; esac
  done
}

rollback() {
  prefix=${prefix:-${HOME:?expected HOME, or --prefix DIR}/.local}
  current=$(current_version)
  previous=$(readlink -- "$data/versions/previous" || true)
  if [ -z "$previous" ] || [ ! -d "$previous" ]; then fail "expected a former version in $data/versions, found none."; fi
  [ -z "$current" ] || run ln -sfn "$current" "$data/versions/previous"
  use_version "$previous"
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
  case $(readlink -- "$target" || true) in
    "$root/bin/gov" | "$data/versions/"*/bin/gov) run rm -f "$target" ;;
  esac
  prefix=${prefix:-${HOME:-}/.local}
  unlink_pages
  if [ -f bin/gov ]; then run rm -rf .runtime dist; fi
  [ -z "$purge" ] || run rm -rf "$data/versions" "$data/runtime" "$cache"
  if [ -n "$purge" ] && [ -f bin/gov ]; then run rm -rf node_modules; fi
  [ -n "$dry" ] || say "removed. Data folders of planes and the settings in ~/.config/gov are kept; remove them by hand."
}

print_unit() {
  sed -e "s|@GOV@|$root/bin/gov|g" -e "s|@ROOT@|$root|g" "docs/systemd/$unit.service"
}

main "$@"
