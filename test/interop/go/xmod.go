//go:build xmod

// The same with golang.org/x/mod: the implementation that the C2SP formats come from.
package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

func leafHash(record string) hash { return hash(tlog.RecordHash([]byte(record))) }

func nodeHash(left, right hash) hash { return hash(tlog.NodeHash(tlog.Hash(left), tlog.Hash(right))) }

func openNote(text, vkey string) (string, error) {
	verifier, err := note.NewVerifier(vkey)
	if err != nil {
		return "", err
	}
	opened, err := note.Open([]byte(text), note.VerifierList(verifier))
	if err != nil {
		return "", err
	}
	return opened.Text, nil
}

func verifyInclusion(path []hash, t tree, index int64, leaf hash) error {
	return tlog.CheckRecord(tlog.RecordProof(converted(path)), t.size, tlog.Hash(t.root), index, tlog.Hash(leaf))
}

func verifyConsistency(path []hash, first, second tree) error {
	return tlog.CheckTree(tlog.TreeProof(converted(path)), second.size, tlog.Hash(second.root), first.size, tlog.Hash(first.root))
}

func converted(path []hash) []tlog.Hash {
	list := make([]tlog.Hash, len(path))
	for i, h := range path {
		list[i] = tlog.Hash(h)
	}
	return list
}

// checkTiles proves every event in the newest checkpoint of a serving plane, from its tiles.
func checkTiles(url, vkey string, events []leaf) (string, error) {
	reader := &tileReader{url: url}
	head, err := reader.get("checkpoint")
	if err != nil {
		return "", err
	}
	newest, err := readCheckpoint(string(head), vkey)
	if err != nil {
		return "", err
	}
	root := tlog.Tree{N: newest.size, Hash: tlog.Hash(newest.root)}
	for _, event := range events {
		path, err := tlog.ProveRecord(root.N, event.Index, tlog.TileHashReader(root, reader))
		if err != nil {
			return "", err
		}
		if err := tlog.CheckRecord(path, root.N, root.Hash, event.Index, tlog.Hash(leafHash(event.Record))); err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("; from %d tiles of %d leaves", reader.tiles, root.N), nil
}

type tileReader struct {
	url   string
	tiles int
}

func (r *tileReader) get(path string) ([]byte, error) {
	request, err := http.NewRequest("GET", r.url+"/log/"+path, nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+os.Getenv("GOV_API_KEY"))
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != 200 {
		err = fmt.Errorf("%s: %s %s", path, response.Status, body)
	}
	return body, err
}

func (r *tileReader) Height() int { return 8 }

// ReadTiles reads tiles where C2SP tlog-tiles puts them: without the height in the path.
func (r *tileReader) ReadTiles(tiles []tlog.Tile) ([][]byte, error) {
	data := make([][]byte, len(tiles))
	for i, tile := range tiles {
		body, err := r.get(strings.Replace(tile.Path(), "tile/8/", "tile/", 1))
		if err != nil {
			return nil, err
		}
		data[i] = body
		r.tiles++
	}
	return data, nil
}

func (r *tileReader) SaveTiles([]tlog.Tile, [][]byte) {}
