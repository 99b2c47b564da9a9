// Checks proof bundles without any code of this project: signed notes, RFC 6962 inclusion and consistency, and
// that every enclosed event stands in the tree. Two builds share this file: std.go is written with nothing but
// Go's standard library, xmod.go (build tag xmod) uses golang.org/x/mod/sumdb/note and tlog.
//
//	check VKEY FILE…                 one line for each bundle or tlog-proof: ok, or refused and why
//	check -tiles URL VKEY FILE…      (xmod) also proves every event from the plane's hash tiles; key in $GOV_API_KEY
//	check -telemetry VKEY FILE…      what a plane reported to a service, and answered it
package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math/bits"
	"os"
	"strconv"
	"strings"
)

type hash = [sha256.Size]byte

type leaf struct {
	Index     int64
	Record    string
	Inclusion []string
}

type bundle struct {
	Proof struct {
		ProofID, RunID, ProofHash string
		Layers                    []struct{ Name, Hash string }
	}
	ProofPreimage               string
	LayerStatements             map[string]string
	Checkpoint, ProofCheckpoint string
	ProofLeaf                   leaf
	Consistency                 []string
	Events                      []leaf
	EventsInclusion             []string
	Graph                       *struct{ Leaf leaf }
}

// tree is what a checkpoint says.
type tree struct {
	origin string
	size   int64
	root   hash
}

func main() {
	args := os.Args[1:]
	tiles, telemetry := "", false
	if len(args) > 1 && args[0] == "-tiles" {
		tiles, args = args[1], args[2:]
	}
	if len(args) > 1 && args[0] == "-telemetry" {
		telemetry, args = true, args[1:]
	}
	if len(args) < 2 {
		fmt.Fprintln(os.Stderr, "expected VKEY FILE…")
		os.Exit(2)
	}
	failed := false
	for _, name := range args[1:] {
		said, err := "", error(nil)
		if telemetry {
			said, err = checkTelemetry(name, args[0])
		} else {
			said, err = checkFile(name, args[0], tiles)
		}
		if err != nil {
			failed = true
			fmt.Printf("refused: %v\n", err)
		} else {
			fmt.Printf("ok: %s\n", said)
		}
	}
	if failed {
		os.Exit(1)
	}
}

func checkFile(name, vkey, tiles string) (string, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return "", err
	}
	if bytes.HasPrefix(data, []byte("c2sp.org/tlog-proof@v1\n")) {
		return checkTlogProof(string(data), vkey, name)
	}
	var b bundle
	if err := json.Unmarshal(data, &b); err != nil {
		return "", err
	}
	return check(&b, vkey, tiles)
}

func check(b *bundle, vkey, tiles string) (string, error) {
	if err := checkTexts(b); err != nil {
		return "", err
	}
	first, err := readCheckpoint(b.Checkpoint, vkey)
	if err != nil {
		return "", fmt.Errorf("checkpoint: %w", err)
	}
	second, err := readCheckpoint(b.ProofCheckpoint, vkey)
	if err != nil {
		return "", fmt.Errorf("proofCheckpoint: %w", err)
	}
	if err := checkProofLeaf(b, second); err != nil {
		return "", err
	}
	path, err := hashes(b.Consistency)
	if err != nil {
		return "", err
	}
	if err := verifyConsistency(path, first, second); err != nil {
		return "", fmt.Errorf("consistency: %w", err)
	}
	if err := checkEvidence(b, first); err != nil {
		return "", err
	}
	if b.Graph != nil {
		if err := checkLeaf(b.Graph.Leaf, first); err != nil {
			return "", fmt.Errorf("graph: %w", err)
		}
	}
	said := fmt.Sprintf("%s, leaf %d of %d, %d events of %d leaves, %d hashes of consistency",
		b.Proof.ProofID, b.ProofLeaf.Index, second.size, len(b.Events), first.size, len(path))
	if tiles == "" {
		return said, nil
	}
	proved, err := checkTiles(tiles, vkey, b.Events)
	return said + proved, err
}

// checkTexts checks that texts hash to what is written beside them.
func checkTexts(b *bundle) error {
	if hashOf(b.ProofPreimage) != b.Proof.ProofHash {
		return errors.New("proofPreimage: another hash")
	}
	for _, layer := range b.Proof.Layers {
		if hashOf(b.LayerStatements[layer.Name]) != layer.Hash {
			return fmt.Errorf("%s: another hash", layer.Name)
		}
		if !strings.Contains(b.ProofPreimage, `{"hash":"`+layer.Hash+`","name":"`+layer.Name+`"`) {
			return fmt.Errorf("%s: not in proofPreimage", layer.Name)
		}
	}
	return nil
}

func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256:" + hex.EncodeToString(sum[:])
}

func checkProofLeaf(b *bundle, second tree) error {
	var record struct{ Type, ProofID, RunID, ProofHash string }
	if err := json.Unmarshal([]byte(b.ProofLeaf.Record), &record); err != nil {
		return err
	}
	p := b.Proof
	if record.Type != "gov.proof/1" || record.ProofID != p.ProofID || record.RunID != p.RunID || record.ProofHash != p.ProofHash {
		return errors.New("proofLeaf: of another proof")
	}
	if err := checkLeaf(b.ProofLeaf, second); err != nil {
		return fmt.Errorf("proofLeaf: %w", err)
	}
	return nil
}

func checkLeaf(l leaf, t tree) error {
	path, err := hashes(l.Inclusion)
	if err != nil {
		return err
	}
	return verifyInclusion(path, t, l.Index, leafHash(l.Record))
}

// checkEvidence checks the events against the evidence of every layer and against the tree.
func checkEvidence(b *bundle, first tree) error {
	leaves := make([]hash, len(b.Events))
	for i, event := range b.Events {
		leaves[i] = leafHash(event.Record)
	}
	for name, statement := range b.LayerStatements {
		var s struct {
			Layer    string
			Evidence struct {
				Origin, TreeRoot, RunID, RunRoot string
				TreeSize                         int64
				RunEvents                        int
			}
		}
		body, found := cut(statement, "gov.layer/v1\n")
		if !found {
			return fmt.Errorf("%s: no statement", name)
		}
		if err := json.Unmarshal([]byte(body), &s); err != nil {
			return err
		}
		e := s.Evidence
		if s.Layer != name || e.Origin != first.origin || e.TreeSize != first.size ||
			e.TreeRoot != "sha256:"+hex.EncodeToString(first.root[:]) || e.RunID != b.Proof.RunID {
			return fmt.Errorf("%s: of another tree or run", name)
		}
		if len(leaves) > 0 {
			root := treeRoot(leaves)
			if e.RunEvents != len(leaves) || e.RunRoot != "sha256:"+hex.EncodeToString(root[:]) {
				return fmt.Errorf("%s: other events", name)
			}
		}
	}
	if len(leaves) == 0 {
		return nil
	}
	path, err := hashes(b.EventsInclusion)
	if err != nil {
		return err
	}
	shared := &sharedPath{events: b.Events, leaves: leaves, path: path}
	root, err := shared.root(0, first.size)
	if err != nil {
		return err
	}
	if root != first.root || len(shared.path) != 0 || len(shared.events) != 0 {
		return errors.New("events: not in the tree")
	}
	return nil
}

// sharedPath is the one path of many leaves that docs/reference/proof-format.md describes; what was used is taken off.
type sharedPath struct {
	events []leaf
	leaves []hash
	path   []hash
}

func (s *sharedPath) root(start, end int64) (hash, error) {
	if len(s.events) == 0 || s.events[0].Index < start || s.events[0].Index >= end {
		if len(s.path) == 0 {
			return hash{}, errors.New("eventsInclusion: too short")
		}
		h := s.path[0]
		s.path = s.path[1:]
		return h, nil
	}
	if end-start == 1 {
		h := s.leaves[0]
		s.events, s.leaves = s.events[1:], s.leaves[1:]
		return h, nil
	}
	middle := start + split(end-start)
	left, err := s.root(start, middle)
	if err != nil {
		return hash{}, err
	}
	right, err := s.root(middle, end)
	return nodeHash(left, right), err
}

// split is the largest power of two below n.
func split(n int64) int64 { return 1 << (bits.Len64(uint64(n-1)) - 1) }

// treeRoot is MTH of RFC 6962, section 2.1.
func treeRoot(leaves []hash) hash {
	if len(leaves) == 1 {
		return leaves[0]
	}
	k := split(int64(len(leaves)))
	return nodeHash(treeRoot(leaves[:k]), treeRoot(leaves[k:]))
}

// checkTlogProof checks a C2SP tlog-proof; the record is beside it in NAME.record.
func checkTlogProof(text, vkey, name string) (string, error) {
	record, err := os.ReadFile(name + ".record")
	if err != nil {
		return "", err
	}
	head, note, found := strings.Cut(text, "\n\n")
	if !found {
		return "", errors.New("tlog-proof: no empty line")
	}
	t, err := readCheckpoint(note, vkey)
	if err != nil {
		return "", err
	}
	lines := strings.Split(head, "\n")[1:]
	index, err := strconv.ParseInt(strings.TrimPrefix(lines[0], "index "), 10, 64)
	if err != nil {
		return "", err
	}
	var path []hash
	for _, line := range lines[1:] {
		h, err := base64.StdEncoding.DecodeString(line)
		if err != nil || len(h) != sha256.Size {
			return "", fmt.Errorf("tlog-proof: %q is no hash", line)
		}
		path = append(path, *(*hash)(h))
	}
	if err := verifyInclusion(path, t, index, leafHash(string(record))); err != nil {
		return "", err
	}
	return fmt.Sprintf("tlog-proof of leaf %d of %d", index, t.size), nil
}

// readCheckpoint opens a note and reads origin, size and root.
func readCheckpoint(note, vkey string) (tree, error) {
	text, err := openNote(note, vkey)
	if err != nil {
		return tree{}, err
	}
	lines := strings.Split(text, "\n")
	if len(lines) != 4 || lines[3] != "" {
		return tree{}, fmt.Errorf("expected three lines, got %q", text)
	}
	size, err := strconv.ParseInt(lines[1], 10, 64)
	if err != nil || strconv.FormatInt(size, 10) != lines[1] {
		return tree{}, fmt.Errorf("expected a size, got %q", lines[1])
	}
	root, err := base64.StdEncoding.DecodeString(lines[2])
	if err != nil || len(root) != sha256.Size {
		return tree{}, fmt.Errorf("expected a root, got %q", lines[2])
	}
	return tree{lines[0], size, *(*hash)(root)}, nil
}

func hashes(texts []string) ([]hash, error) {
	path := make([]hash, 0, len(texts))
	for _, text := range texts {
		body, found := cut(text, "sha256:")
		h, err := hex.DecodeString(body)
		if !found || err != nil || len(h) != sha256.Size || strings.ToLower(body) != body {
			return nil, fmt.Errorf("%q is no hash", text)
		}
		path = append(path, *(*hash)(h))
	}
	return path, nil
}

func cut(text, prefix string) (string, bool) {
	return strings.TrimPrefix(text, prefix), strings.HasPrefix(text, prefix)
}
