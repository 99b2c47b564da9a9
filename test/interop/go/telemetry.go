// Checks what a data plane reported (docs/reference/telemetry-protocol.md): usage reports against their leaves and against each other, and
// answers to challenges. The metering log is signed by the key of the audit log, under the metering log's name.
package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"os"
	"sort"
	"strings"
)

type counts map[string]int64

type provenLeaf struct {
	Index     int64
	Record    string
	Inclusion []string
}

type report struct {
	SchemaVersion, ReportID string
	Sequence                int64
	PeriodStart, PeriodEnd  string
	Operations, Totals      counts
	Log                     struct {
		Origin             string
		Epoch              int64
		FromSize, TreeSize int64
		Checkpoint         string
		Consistency        []string
	}
	LastLeaf *provenLeaf
	AuditLog struct {
		TreeSize   int64
		Checkpoint string
	}
	PreviousReportHash *string
}

type challenge struct {
	ChallengeID, ReportID, Origin, RootHash, Seed string
	TreeSize, AuditTreeSize                       int64
	SampleSize, CrossSampleSize                   int
	UnitRange                                     struct{ From, To int64 }
	ConsistencySizes                              []int64
}

type attestation struct {
	ChallengeID, Signature string
	Samples                []struct {
		provenLeaf
		Unit     int64
		Previous *provenLeaf
	}
	Consistency []struct {
		FromSize int64
		Path     []string
	}
	Cross []struct {
		AuditIndex, MeterIndex, FirstAuditIndex, Count int64
		AuditLeafHash, MeterRecord, RefNonce           string
		AuditInclusion, MeterInclusion, BatchInclusion []string
	}
}

type meterLeaf struct {
	Op, Ref string
	Units   int64
	Totals  counts
}

// held is the report that the next line is about.
type held struct {
	report
	hash        string
	head, audit tree
}

// checkTelemetry checks the lines that `gov plane telemetry show --all` prints.
func checkTelemetry(name, auditKey string) (string, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return "", err
	}
	var last *held
	var asked *challenge
	var earlier []tree
	reports, attestations := 0, 0
	for _, line := range strings.Split(strings.TrimSuffix(string(data), "\n"), "\n") {
		var kind struct {
			SchemaVersion string
			Cosignature   *string
			Attestation   struct{ Challenge *challenge }
		}
		if err := json.Unmarshal([]byte(line), &kind); err != nil {
			return "", err
		}
		switch {
		case kind.SchemaVersion == "gov.usage/1":
			next, err := checkReport(line, last, auditKey)
			if err != nil {
				return "", err
			}
			if next.Sequence == 1 {
				earlier = nil
			} else {
				earlier = append(earlier, last.head)
			}
			last, asked, reports = next, nil, reports+1
		case kind.SchemaVersion == "gov.attest/1":
			if asked == nil {
				return "", errors.New("an answer without its challenge")
			}
			if err := checkAttestation(line, asked, last, earlier, auditKey); err != nil {
				return "", fmt.Errorf("attestation of report %d: %w", last.Sequence, err)
			}
			attestations++
		case kind.Cosignature != nil:
			asked = kind.Attestation.Challenge
		}
	}
	if reports == 0 {
		return "", errors.New("no report")
	}
	return fmt.Sprintf("%d reports, %d attestations", reports, attestations), nil
}

func checkReport(line string, before *held, auditKey string) (*held, error) {
	next := &held{hash: hashOf(line)}
	if err := json.Unmarshal([]byte(line), &next.report); err != nil {
		return nil, err
	}
	fail := func(what string) (*held, error) { return nil, fmt.Errorf("report %d: %s", next.Sequence, what) }
	var err error
	if next.head, err = openHead(next.Log.Checkpoint, next.Log.Origin, auditKey); err != nil {
		return fail(err.Error())
	}
	if next.audit, err = openHead(next.AuditLog.Checkpoint, strings.SplitN(auditKey, "+", 2)[0], auditKey); err != nil {
		return fail(err.Error())
	}
	if next.head.size != next.Log.TreeSize || next.audit.size != next.AuditLog.TreeSize {
		return fail("another size")
	}
	if l := next.LastLeaf; l == nil || l.Index != next.head.size-1 {
		return fail("not the last leaf")
	}
	last, err := meterLeafIn(next.head, next.LastLeaf.Index, next.LastLeaf.Record, next.LastLeaf.Inclusion)
	if err != nil {
		return fail(err.Error())
	}
	if before == nil || before.Log.Epoch != next.Log.Epoch {
		if next.Sequence != 1 || next.PreviousReportHash != nil || next.Log.FromSize != 0 {
			return fail("reports are missing")
		}
		before = &held{}
	} else {
		if next.Sequence != before.Sequence+1 {
			return fail("reports are missing")
		}
		if next.PreviousReportHash == nil || *next.PreviousReportHash != before.hash || next.PeriodStart != before.PeriodEnd {
			return fail("follows another report")
		}
		if next.Log.FromSize != before.head.size {
			return fail("begins elsewhere")
		}
		if err := checkExtends(next.Log.Consistency, before.head, next.head); err != nil {
			return fail(err.Error())
		}
	}
	for op, total := range last.Totals {
		if next.Totals[op] != total || next.Operations[op] != total-before.Totals[op] {
			return fail("other counts than its last leaf")
		}
	}
	if len(next.Totals) != len(last.Totals) || len(next.Operations) != len(last.Totals) {
		return fail("other types")
	}
	return next, nil
}

func checkAttestation(line string, asked *challenge, of *held, earlier []tree, auditKey string) error {
	var proof attestation
	if err := json.Unmarshal([]byte(line), &proof); err != nil {
		return err
	}
	root := base64.StdEncoding.EncodeToString(of.head.root[:])
	if proof.ChallengeID != asked.ChallengeID || asked.ReportID != of.ReportID || asked.Origin != of.head.origin ||
		asked.TreeSize != of.head.size || asked.RootHash != root || asked.AuditTreeSize != of.audit.size {
		return errors.New("of another challenge")
	}
	if err := checkSigned(line, proof.Signature, asked, of, auditKey); err != nil {
		return err
	}
	from, to := asked.UnitRange.From, asked.UnitRange.To
	units := draw("gov.attest/v1\n", asked.Seed, asked.SampleSize, from+1, to+1)
	if to > from {
		units = distinct(append(units, from+1, to))
	}
	crosses := distinct(draw("gov.attest.cross/v1\n", asked.Seed, asked.CrossSampleSize, 1, of.audit.size))
	if len(units) != len(proof.Samples) || len(crosses) != len(proof.Cross) || len(asked.ConsistencySizes) != len(proof.Consistency) {
		return errors.New("other samples")
	}
	for i, s := range proof.Samples {
		leaf, err := meterLeafIn(of.head, s.Index, s.Record, s.Inclusion)
		if err != nil {
			return err
		}
		before := &meterLeaf{Totals: counts{}}
		if s.Index > 0 {
			if s.Previous == nil {
				return errors.New("no leaf before")
			}
			if before, err = meterLeafIn(of.head, s.Index-1, s.Previous.Record, s.Previous.Inclusion); err != nil {
				return err
			}
		}
		if s.Unit != units[i] || before.Totals.sum() >= s.Unit || leaf.Totals.sum() < s.Unit {
			return fmt.Errorf("not the leaf of unit %d", units[i])
		}
		for op, total := range leaf.Totals {
			if op == leaf.Op {
				total -= leaf.Units
			}
			if before.Totals[op] != total {
				return fmt.Errorf("unit %d: the totals do not add up", s.Unit)
			}
		}
	}
	for i, c := range proof.Consistency {
		found := c.FromSize == 0 && len(c.Path) == 0
		for _, head := range earlier {
			if head.size != c.FromSize || c.FromSize != asked.ConsistencySizes[i] {
				continue
			}
			if err := checkExtends(c.Path, head, of.head); err != nil {
				return err
			}
			found = true
		}
		if !found {
			return fmt.Errorf("no earlier tree of %d leaves", c.FromSize)
		}
	}
	for i, c := range proof.Cross {
		leaf, err := base64Hashes([]string{c.AuditLeafHash})
		if err != nil || c.AuditIndex != crosses[i] {
			return errors.New("another leaf of the audit log")
		}
		if err := checkPath(c.AuditInclusion, of.audit, c.AuditIndex, leaf[0]); err != nil {
			return fmt.Errorf("audit leaf: %w", err)
		}
		meter, err := meterLeafIn(of.head, c.MeterIndex, c.MeterRecord, c.MeterInclusion)
		if err != nil {
			return err
		}
		if err := checkBatch(meter.Ref, c.RefNonce, c.BatchInclusion, leaf[0], [3]int64{c.AuditIndex, c.FirstAuditIndex, c.Count}); err != nil {
			return err
		}
	}
	return nil
}

// checkSigned checks the plane's note over what it answered. The members stand in the line as JCS writes them.
func checkSigned(line, signature string, asked *challenge, of *held, auditKey string) error {
	var raw struct{ Consistency, Cross, Samples json.RawMessage }
	if err := json.Unmarshal([]byte(line), &raw); err != nil {
		return err
	}
	answer := fmt.Sprintf(`{"consistency":%s,"cross":%s,"samples":%s}`, raw.Consistency, raw.Cross, raw.Samples)
	text, err := openNote(signature, renamed(auditKey, of.head.origin))
	if err != nil {
		return err
	}
	signed := fmt.Sprintf("gov.attestation/v1\n%s\n%s %d %s\n%s\n",
		asked.ChallengeID, of.head.origin, of.head.size, asked.RootHash, hashOf(answer))
	if text != signed {
		return errors.New("signed for another answer")
	}
	return nil
}

// checkBatch finds the root of the batch from its path: RFC 9162, section 2.1.3.2, without a root to compare.
func checkBatch(ref, nonce64 string, texts []string, leaf hash, at [3]int64) error {
	index, size := at[0]-at[1], at[2]
	path, err := base64Hashes(texts)
	if err != nil {
		return err
	}
	if index < 0 || index >= size {
		return errors.New("outside of the batch")
	}
	fn, sn, root := index, size-1, leaf
	for _, sibling := range path {
		if sn == 0 {
			return errors.New("batch: path too long")
		}
		if fn&1 == 1 || fn == sn {
			root = nodeHash(sibling, root)
			for fn&1 == 0 && fn != 0 {
				fn, sn = fn>>1, sn>>1
			}
		} else {
			root = nodeHash(root, sibling)
		}
		fn, sn = fn>>1, sn>>1
	}
	nonce, err := base64.RawURLEncoding.DecodeString(nonce64)
	if err != nil || sn != 0 {
		return errors.New("batch: no path or nonce")
	}
	var preimage bytes.Buffer
	preimage.WriteString("gov.meterref/v1\n")
	preimage.Write(nonce)
	binary.Write(&preimage, binary.BigEndian, uint64(at[1]))
	binary.Write(&preimage, binary.BigEndian, uint32(size))
	preimage.Write(root[:])
	sum := sha256.Sum256(preimage.Bytes())
	if base64.RawURLEncoding.EncodeToString(sum[:]) != ref {
		return errors.New("the metering leaf is of another batch")
	}
	return nil
}

func meterLeafIn(head tree, index int64, record string, path []string) (*meterLeaf, error) {
	if err := checkPath(path, head, index, leafHash(record)); err != nil {
		return nil, fmt.Errorf("leaf %d: %w", index, err)
	}
	var leaf meterLeaf
	if err := json.Unmarshal([]byte(record), &leaf); err != nil {
		return nil, err
	}
	return &leaf, nil
}

func checkPath(texts []string, t tree, index int64, leaf hash) error {
	path, err := base64Hashes(texts)
	if err != nil {
		return err
	}
	return verifyInclusion(path, t, index, leaf)
}

func checkExtends(texts []string, first, second tree) error {
	path, err := base64Hashes(texts)
	if err != nil {
		return err
	}
	return verifyConsistency(path, first, second)
}

func openHead(note, origin, auditKey string) (tree, error) {
	head, err := readCheckpoint(note, renamed(auditKey, origin))
	if err == nil && head.origin != origin {
		err = errors.New("checkpoint of another log")
	}
	return head, err
}

// renamed is the verifier key of another log that the same Ed25519 key signs.
func renamed(vkey, name string) string {
	parts := strings.SplitN(vkey, "+", 3)
	key, err := base64.StdEncoding.DecodeString(parts[len(parts)-1])
	if err != nil {
		return vkey
	}
	id := sha256.Sum256([]byte(name + "\n" + string(key)))
	return fmt.Sprintf("%s+%08x+%s", name, binary.BigEndian.Uint32(id[:4]), parts[len(parts)-1])
}

// draw gives numbers in [first, end) that follow from the seed.
func draw(label, seed string, n int, first, end int64) []int64 {
	var numbers []int64
	raw, ok := new(big.Int).SetString(seed, 16)
	if !ok || end <= first {
		return nil
	}
	for j := 0; j < n; j++ {
		preimage := append([]byte(label), raw.FillBytes(make([]byte, 32))...)
		preimage = append(preimage, byte(j>>24), byte(j>>16), byte(j>>8), byte(j))
		sum := sha256.Sum256(preimage)
		number := new(big.Int).SetBytes(sum[:16])
		numbers = append(numbers, first+number.Mod(number, big.NewInt(end-first)).Int64())
	}
	return numbers
}

func distinct(numbers []int64) []int64 {
	sort.Slice(numbers, func(a, b int) bool { return numbers[a] < numbers[b] })
	var kept []int64
	for i, n := range numbers {
		if i == 0 || n != numbers[i-1] {
			kept = append(kept, n)
		}
	}
	return kept
}

func base64Hashes(texts []string) ([]hash, error) {
	path := make([]hash, 0, len(texts))
	for _, text := range texts {
		h, err := base64.StdEncoding.DecodeString(text)
		if err != nil || len(h) != sha256.Size {
			return nil, fmt.Errorf("%q is no hash", text)
		}
		path = append(path, *(*hash)(h))
	}
	return path, nil
}

func (c counts) sum() (sum int64) {
	for _, n := range c {
		sum += n
	}
	return
}
