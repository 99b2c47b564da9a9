//go:build !xmod

// C2SP signed-note with Ed25519, and RFC 6962 trees by the algorithms of RFC 9162, with the standard library alone.
package main

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
)

func leafHash(record string) hash { return sha256.Sum256(append([]byte{0}, record...)) }

func nodeHash(left, right hash) hash {
	return sha256.Sum256(append(append([]byte{1}, left[:]...), right[:]...))
}

// openNote returns the text of a note that the key signed; other keys' signatures say nothing.
func openNote(note, vkey string) (string, error) {
	parts := strings.SplitN(vkey, "+", 3)
	if len(parts) != 3 {
		return "", errors.New("no verifier key")
	}
	key, err := base64.StdEncoding.DecodeString(parts[2])
	if err != nil || len(key) != 1+ed25519.PublicKeySize || key[0] != 1 {
		return "", errors.New("no Ed25519 verifier key")
	}
	id := sha256.Sum256([]byte(parts[0] + "\n" + string(key)))
	if fmt.Sprintf("%08x", binary.BigEndian.Uint32(id[:4])) != parts[1] {
		return "", errors.New("verifier key with another id")
	}
	at := strings.LastIndex(note, "\n\n")
	if at < 0 || !strings.HasSuffix(note, "\n") {
		return "", errors.New("no note")
	}
	text := note[:at+1]
	verified := false
	for _, line := range strings.Split(strings.TrimSuffix(note[at+2:], "\n"), "\n") {
		words := strings.Split(line, " ")
		if len(words) != 3 || words[0] != "—" {
			return "", fmt.Errorf("%q is no signature", line)
		}
		signature, err := base64.StdEncoding.DecodeString(words[2])
		if err != nil || len(signature) < 5 {
			return "", fmt.Errorf("%q is no signature", line)
		}
		if words[1] != parts[0] || string(signature[:4]) != string(id[:4]) {
			continue
		}
		if !ed25519.Verify(key[1:], []byte(text), signature[4:]) {
			return "", errors.New("invalid signature")
		}
		verified = true
	}
	if !verified {
		return "", errors.New("no signature of the key")
	}
	return text, nil
}

// verifyInclusion is RFC 9162, section 2.1.3.2.
func verifyInclusion(path []hash, t tree, index int64, leaf hash) error {
	if index < 0 || index >= t.size {
		return errors.New("index outside of the tree")
	}
	fn, sn, r := index, t.size-1, leaf
	for _, p := range path {
		if sn == 0 {
			return errors.New("path too long")
		}
		if fn&1 == 1 || fn == sn {
			r = nodeHash(p, r)
			for fn&1 == 0 && fn != 0 {
				fn, sn = fn>>1, sn>>1
			}
		} else {
			r = nodeHash(r, p)
		}
		fn, sn = fn>>1, sn>>1
	}
	if sn != 0 || r != t.root {
		return errors.New("not in the tree")
	}
	return nil
}

// verifyConsistency is RFC 9162, section 2.1.4.2.
func verifyConsistency(path []hash, first, second tree) error {
	if first.size < 1 || first.size > second.size {
		return errors.New("sizes out of order")
	}
	if first.size == second.size {
		if len(path) != 0 || first.root != second.root {
			return errors.New("two trees of one size")
		}
		return nil
	}
	if first.size&(first.size-1) == 0 {
		path = append([]hash{first.root}, path...)
	}
	if len(path) == 0 {
		return errors.New("path too short")
	}
	fn, sn := first.size-1, second.size-1
	for fn&1 == 1 {
		fn, sn = fn>>1, sn>>1
	}
	fr, sr := path[0], path[0]
	for _, c := range path[1:] {
		if sn == 0 {
			return errors.New("path too long")
		}
		if fn&1 == 1 || fn == sn {
			fr, sr = nodeHash(c, fr), nodeHash(c, sr)
			for fn&1 == 0 && fn != 0 {
				fn, sn = fn>>1, sn>>1
			}
		} else {
			sr = nodeHash(sr, c)
		}
		fn, sn = fn>>1, sn>>1
	}
	if sn != 0 || fr != first.root || sr != second.root {
		return errors.New("the later tree does not extend the earlier one")
	}
	return nil
}

func checkTiles(string, string, []leaf) (string, error) {
	return "", errors.New("-tiles: built without golang.org/x/mod")
}
