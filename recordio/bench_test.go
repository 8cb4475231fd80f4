package recordio

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// benchText returns n bytes of Go's own sources, which exist wherever these benchmarks run.
func benchText(b *testing.B, n int) []byte {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		b.Skipf("no sources: %v", err)
	}
	var text []byte
	err = filepath.WalkDir(filepath.Join(strings.TrimSpace(string(root)), "src"), func(name string, e fs.DirEntry, err error) error {
		if err != nil || len(text) >= n {
			return err
		}
		if strings.HasSuffix(name, ".go") && e.Type().IsRegular() {
			part, err := os.ReadFile(name)
			text = append(text, part...)
			return err
		}
		return nil
	})
	if err != nil || len(text) < 1<<20 {
		b.Skipf("%d bytes of sources: %v", len(text), err)
	}
	for len(text) < n {
		text = append(text, text[:min(len(text), n-len(text))]...)
	}
	return text[:n]
}

const benchBytes = 256 << 20

// benchFile is a file of text cut into records of one size.
type benchFile struct {
	name string
	opts WriterOptions
	size int // of a record
}

func benchFiles() []benchFile {
	var files []benchFile
	for _, c := range Compressors() {
		for _, size := range []int{100, 1 << 10, 100 << 10} {
			for _, chunk := range []int{DefaultChunkBytes, 1 << 20} {
				name := fmt.Sprintf("%v/record=%d/chunk=%dMiB", c, size, chunk>>20)
				files = append(files, benchFile{name, WriterOptions{Compressor: c, ChunkBytes: chunk}, size})
			}
		}
	}
	return files
}

// write writes the records of text.
func (f benchFile) write(b *testing.B, w io.Writer, text []byte, workers int) {
	opts := f.opts
	opts.Parallelism = workers
	out := NewWriter(w, opts)
	for at := 0; at < len(text); at += f.size {
		if err := out.Write(text[at:min(len(text), at+f.size)]); err != nil {
			b.Fatal(err)
		}
	}
	if err := out.Close(); err != nil {
		b.Fatal(err)
	}
}

// benchPath puts the file on a disk that is memory, where there is one.
func (f benchFile) path(b *testing.B, text []byte) string {
	dir := b.TempDir()
	if shm, err := os.MkdirTemp("/dev/shm", "recordio"); err == nil {
		b.Cleanup(func() { os.RemoveAll(shm) })
		dir = shm
	}
	name := filepath.Join(dir, "bench")
	file, err := os.Create(name)
	if err != nil {
		b.Fatal(err)
	}
	defer file.Close()
	f.write(b, file, text, 1)
	return name
}

func BenchmarkScan(b *testing.B) {
	text := benchText(b, benchBytes)
	for _, f := range benchFiles() {
		for _, workers := range []int{1, 2} {
			b.Run(fmt.Sprintf("%s/workers=%d", f.name, workers), func(b *testing.B) {
				name := f.path(b, text)
				b.SetBytes(int64(len(text)))
				clock := startClock()
				for b.Loop() {
					scanFile(b, name, workers, len(text))
				}
				clock.report(b, len(text))
			})
		}
	}
}

func scanFile(b *testing.B, name string, workers, want int) {
	file, err := os.Open(name)
	if err != nil {
		b.Fatal(err)
	}
	defer file.Close()
	got := 0
	s := NewScanner(file, ScanOptions{Parallelism: workers})
	for s.Scan() {
		got += len(s.Bytes())
	}
	if s.Err() != nil || got != want {
		b.Fatalf("%d bytes of %d, %v", got, want, s.Err())
	}
}

func BenchmarkWrite(b *testing.B) {
	text := benchText(b, benchBytes)
	for _, f := range benchFiles() {
		for _, workers := range []int{1, 2} {
			b.Run(fmt.Sprintf("%s/workers=%d", f.name, workers), func(b *testing.B) {
				name := f.path(b, nil)
				b.SetBytes(int64(len(text)))
				clock := startClock()
				for b.Loop() {
					file, err := os.Create(name)
					if err != nil {
						b.Fatal(err)
					}
					f.write(b, file, text, workers)
					file.Close()
				}
				clock.report(b, len(text))
			})
		}
	}
}

// BenchmarkReadRecord reads single records at random, with an index.
func BenchmarkReadRecord(b *testing.B) {
	text := benchText(b, benchBytes)
	for _, f := range benchFiles() {
		b.Run(f.name, func(b *testing.B) {
			var out bytes.Buffer
			f.write(b, &out, text, 1)
			x, err := BuildIndex(bytes.NewReader(out.Bytes()), ScanOptions{})
			if err != nil {
				b.Fatal(err)
			}
			file, err := Open(bytes.NewReader(out.Bytes()), int64(out.Len()), OpenOptions{Index: x})
			if err != nil {
				b.Fatal(err)
			}
			rnd := rand.New(rand.NewPCG(1, 1))
			var rec []byte
			for b.Loop() {
				if rec, err = file.ReadRecord(rnd.Int64N(file.Len()), rec[:0]); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
