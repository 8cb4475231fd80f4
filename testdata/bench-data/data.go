package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/paddlecloud/pfs/recordio"
)

const (
	textBytes  = 256 << 20 // of records
	tableBytes = 32 << 20  // of each text to convert
)

// prepare writes the files that the rows read: text, the same as records with each
// compressor, and what is converted.
func prepare(dir string) error {
	text, err := sources(textBytes)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "text"), text, 0o600); err != nil {
		return err
	}
	for _, c := range []recordio.Compressor{recordio.None, recordio.Snappy, recordio.Gzip} {
		f, err := os.Create(filepath.Join(dir, c.String()))
		if err != nil {
			return err
		}
		if err := writeOurs(f, text, c, runtime.GOMAXPROCS(0)); err != nil {
			return err
		}
		if err := f.Sync(); err != nil { // the disk is not to be busy with it later
			return err
		}
		if err := f.Close(); err != nil {
			return err
		}
	}
	for _, t := range tableKinds {
		if err := os.WriteFile(filepath.Join(dir, t.file), t.make(tableBytes), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// sources returns n bytes of Go's own sources, over again if they are fewer.
func sources(n int) ([]byte, error) {
	root := os.Getenv("GOROOT")
	if root == "" {
		return nil, fmt.Errorf("GOROOT is not set: it has the sources that are the text to measure with")
	}
	var text []byte
	err := filepath.WalkDir(filepath.Join(root, "src"), func(name string, e fs.DirEntry, err error) error {
		if err != nil || len(text) >= n || !strings.HasSuffix(name, ".go") || !e.Type().IsRegular() {
			return err
		}
		part, err := os.ReadFile(name)
		text = append(text, part...)
		return err
	})
	if err == nil && len(text) == 0 {
		err = fmt.Errorf("no sources below %s", root)
	}
	if err != nil {
		return nil, err
	}
	return bytes.Repeat(text, n/len(text)+1)[:n], nil
}

// records cuts text into records of recordBytes.
func records(text []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for len(text) > 0 {
			n := min(len(text), recordBytes)
			if !yield(text[:n:n]) {
				return
			}
			text = text[n:]
		}
	}
}

// tableKinds are the texts to convert. All but the first line of a CSV can be repeated.
var tableKinds = []struct {
	name, file string
	header     string
	make       func(size int) []byte
}{
	{"CSV of texts and numbers", "mixed.csv", mixedHeader, mixedTable},
	{"CSV of numbers with 4 decimals", "numbers.csv", numbersHeader, numbersTable},
	{"JSON Lines", "lines.jsonl", "", jsonLines},
	{"text", "lines.txt", "", jsonLines},
}

const (
	mixedHeader   = "id,name,price,count,flag,city\n"
	numbersHeader = "a,b,c,d,e,f,g,h\n"
)

func mixedTable(size int) []byte {
	rnd := rand.New(rand.NewPCG(1, 2))
	b := []byte(mixedHeader)
	for i := 0; len(b) < size; i++ {
		b = fmt.Appendf(b, "%d,user-%d,%.2f,%d,%t,\"San %d, CA\"\n",
			1000000+i, rnd.IntN(1e6), rnd.Float64()*1000, rnd.IntN(500), i%3 == 0, rnd.IntN(100))
	}
	return b
}

func numbersTable(size int) []byte {
	rnd := rand.New(rand.NewPCG(1, 2))
	b := []byte(numbersHeader)
	for len(b) < size {
		for range 8 {
			b = fmt.Appendf(b, "%.4f,", rnd.NormFloat64()*100)
		}
		b[len(b)-1] = '\n'
	}
	return b
}

func jsonLines(size int) []byte {
	rnd := rand.New(rand.NewPCG(1, 2))
	var b []byte
	for i := 0; len(b) < size; i++ {
		b = fmt.Appendf(b, `{"id": %d, "user": {"name": "user-%d", "age": %d}, "text": "the quick brown fox jumps over the lazy dog", "score": %.3f, "tags": ["a", "bb", "ccc"], "ok": %t}`+"\n",
			i, rnd.IntN(1e6), rnd.IntN(90), rnd.Float64(), i%2 == 0)
	}
	return b
}
