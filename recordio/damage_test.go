package recordio

import (
	"bytes"
	"encoding/binary"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite docs/recordio-damage.md")

// damageDoc is the table that TestDamageMatrix holds true.
const damageDoc = "../docs/recordio-damage.md"

var policies = []Policy{Fail, Skip, Salvage}

// matrixRecords fill four chunks of several frames and members each. Their number begins each, so
// that none is equal to another.
func matrixRecords() [][]byte {
	rnd := rand.New(rand.NewPCG(3, 3))
	recs := make([][]byte, 5000)
	for i := range recs {
		recs[i] = fmt.Appendf(nil, "%06d", i)
		for range 100 + rnd.IntN(1500) {
			recs[i] = append(recs[i], "acgt tgca\n"[rnd.IntN(10)])
		}
	}
	return recs
}

const matrixChunk = 1100 << 10

// spot is a place of a chunk, for a compressor that has it.
type spot struct {
	name string
	at   func(c Compressor, chunk []byte) int // -1: none
}

func always(at int) func(Compressor, []byte) int {
	return func(Compressor, []byte) int { return at }
}

func only(want Compressor, at int) func(Compressor, []byte) int {
	return func(c Compressor, _ []byte) int {
		if c == want {
			return at
		}
		return -1
	}
}

// spots are the regions of a chunk, in the order of the file.
var spots = []spot{
	{"header: magic", always(1)},
	{"header: checksum", always(6)},
	{"header: compressor", always(8)},
	{"header: size", always(13)},
	{"header: size, high", always(15)},
	{"header: record count", always(16)},
	{"first length of a record", only(None, headerSize)},
	{"stream identifier", only(Snappy, headerSize+5)},
	{"first frame: length", only(Snappy, headerSize+11)},
	{"first frame: checksum", only(Snappy, headerSize+15)},
	{"payload: near the start", always(headerSize + 100)},
	{"payload: middle", func(_ Compressor, b []byte) int { return len(b) / 2 }},
	{"payload: last byte", func(_ Compressor, b []byte) int { return len(b) - 1 }},
}

// harm is another kind of damage.
type harm struct {
	name string
	do   func(file []byte, from, to int) []byte // from, to: the second chunk
}

var harms = []harm{
	{"4 KiB of zeros in the payload", func(b []byte, from, to int) []byte {
		clear(b[(from+to)/2:][:4096])
		return b
	}},
	{"100 bytes cut out of the payload", func(b []byte, from, to int) []byte {
		return append(b[:(from+to)/2], b[(from+to)/2+100:]...)
	}},
	{"a line break between chunks", func(b []byte, from, _ int) []byte {
		return append(b[:from:from], append([]byte("\n"), b[from:]...)...)
	}},
	{"a line break at the end", func(b []byte, _, _ int) []byte { return append(b, '\n') }},
	{"cut inside the last header", func(b []byte, _, _ int) []byte { return b[:chunkStarts(b)[3]+10] }},
	{"cut inside the last payload", func(b []byte, _, _ int) []byte { return b[:(chunkStarts(b)[3]+len(b))/2] }},
	{"4 KiB of zeros at the end", func(b []byte, _, _ int) []byte { return append(b, make([]byte, 4096)...) }},
	{"the file twice", func(b []byte, _, _ int) []byte { return append(b, b...) }},
}

// chunkStarts follows the headers of a whole file.
func chunkStarts(b []byte) []int {
	var at []int
	for i := 0; i < len(b); i += headerSize + int(binary.LittleEndian.Uint32(b[i+12:])) {
		at = append(at, i)
	}
	return at
}

// TestDamageMatrix damages a file in each region, and compares what each policy returns with the
// table in the documentation. No policy returns a record that was not written, or in another order.
func TestDamageMatrix(t *testing.T) {
	recs := matrixRecords()
	var doc strings.Builder
	doc.WriteString(damageIntro)
	fmt.Fprintf(&doc, "The file: %d records of 106 to 1,605 bytes in chunks of at most %d record bytes.\n", len(recs), matrixChunk)
	for _, c := range Compressors() {
		file := write(t, recs, WriterOptions{Compressor: c, ChunkBytes: matrixChunk})
		starts := append(chunkStarts(file), len(file))
		if len(starts) != 5 {
			t.Fatalf("%v: %d chunks, want 4", c, len(starts)-1)
		}
		second := scanAll(t, file[starts[1]:starts[2]], ScanOptions{})
		fmt.Fprintf(&doc, "\n## %v\n\nThe damaged chunk holds %d records.\n\n", c, len(second))
		doc.WriteString("| damage | fail: returned, then | skip: lost | salvage: lost |\n|---|---|---|---|\n")
		for _, s := range spots {
			at := s.at(c, file[starts[1]:starts[2]])
			if at < 0 {
				continue
			}
			bad := bytes.Clone(file)
			bad[starts[1]+at] ^= 0x02
			doc.WriteString(matrixRow(t, "one bit, "+s.name, bad, recs))
		}
		for _, h := range harms {
			want := recs
			if h.name == "the file twice" {
				want = append(recs[:len(recs):len(recs)], recs...)
			}
			doc.WriteString(matrixRow(t, h.name, h.do(bytes.Clone(file), starts[1], starts[2]), want))
		}
	}
	if *update {
		if err := os.WriteFile(damageDoc, []byte(doc.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(damageDoc)
	if err != nil {
		t.Fatal(err)
	}
	if doc.String() != string(want) {
		t.Errorf("%s does not say what happens; run this test with -update and look at the difference", damageDoc)
	}
}

const damageIntro = `# What damage costs

This page shows the result of scanning a damaged RecordIO file, for each policy. TestDamageMatrix of package recordio writes and checks
the tables. "lost" counts the written records that are not returned. No policy returns a record that was not written.

An uncompressed chunk has one checksum, so one wrong bit in its records loses all of it, and smaller chunks lose less. Parts of
compressed chunks have separate checksums: 64 KiB of data with snappy, 256 KiB with zstd, 1 MiB with gzip. The header has no
checksum, but its values are compared with the payload: with salvage, damage to the header alone loses nothing.

`

// matrixRow returns the line of the table for one damage.
func matrixRow(t *testing.T, name string, bad []byte, recs [][]byte) string {
	t.Helper()
	row := "| " + name + " |"
	for _, p := range policies {
		var places []Damage
		got, err := scan(bad, ScanOptions{Policy: p, OnDamage: func(d Damage) { places = append(places, d) }})
		if !isSubsequence(got, recs) {
			t.Errorf("%s, %v: a record was returned that was not written", name, p)
		}
		if p == Fail {
			row += fmt.Sprintf(" %d; %s |", len(got), says(err))
			continue
		}
		if err != nil {
			t.Errorf("%s, %v: %v", name, p, err)
		}
		told(t, name, places, len(recs)-len(got))
		row += fmt.Sprintf(" %d |", len(recs)-len(got))
	}
	return row + "\n"
}

func says(err error) string {
	if err == nil {
		return "end of file"
	}
	return err.Error()
}

// told checks that the number of lost records in places equals the number of missing ones.
func told(t *testing.T, name string, places []Damage, missing int) {
	t.Helper()
	lost := int64(0)
	for _, d := range places {
		if d.Lost < 0 {
			return
		}
		lost += d.Lost
	}
	if lost != int64(missing) {
		t.Errorf("%s: %d records reported lost, %d are missing", name, lost, missing)
	}
}

// isSubsequence reports whether got is want without some of its elements.
func isSubsequence(got, want [][]byte) bool {
	i := 0
	for _, rec := range got {
		for i < len(want) && !bytes.Equal(want[i], rec) {
			i++
		}
		if i == len(want) {
			return false
		}
		i++
	}
	return true
}

// TestNoFlippedBitInventsRecords flips bits all over a small file.
func TestNoFlippedBitInventsRecords(t *testing.T) {
	recs := someRecords(rand.New(rand.NewPCG(4, 4)), 60, 200)
	for i := range recs {
		recs[i] = append(recs[i], byte(i)) // none is empty, so that all losses show
	}
	for _, c := range Compressors() {
		file := write(t, recs, WriterOptions{Compressor: c, ChunkBytes: 1500})
		for bit := 0; bit < 8*len(file); bit += 29 {
			bad := bytes.Clone(file)
			bad[bit/8] ^= 1 << (bit % 8)
			for _, p := range policies {
				got, err := scan(bad, ScanOptions{Policy: p})
				if !isSubsequence(got, recs) {
					t.Fatalf("%v, bit %d, %v: a record was returned that was not written", c, bit, p)
				}
				if p == Fail && err == nil {
					t.Errorf("%v, bit %d: not noticed", c, bit)
				}
				if p != Fail && err != nil {
					t.Errorf("%v, bit %d, %v: %v", c, bit, p, err)
				}
			}
		}
	}
}
