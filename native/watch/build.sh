#!/bin/sh
# Builds gov-watch for both architectures, and writes SHA256SUMS. README.md says which compiler makes the committed bytes.
set -eu
cd "$(dirname "$0")"
build() {
  "$1" -std=c11 -Os -static -nostdlib -ffreestanding -fno-pie -no-pie -fno-builtin -fno-stack-protector -fno-asynchronous-unwind-tables \
    -fno-tree-loop-distribute-patterns -Wall -Wextra -Werror -Wl,--build-id=none -Wl,-z,noexecstack -Wl,-z,norelro -s -o "$2" gov-watch.c
  chmod 755 "$2"
}
build "${CC_X64:-gcc}" "${1:-.}/gov-watch-x64"
build "${CC_ARM64:-aarch64-linux-gnu-gcc}" "${1:-.}/gov-watch-arm64"
(cd "${1:-.}" && sha256sum gov-watch-x64 gov-watch-arm64) >"${1:-.}/SHA256SUMS"
