package convert

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
)

// benchTable is about size bytes of CSV with columns of all kinds.
func benchTable(size int) []byte {
	rnd := rand.New(rand.NewPCG(1, 2))
	b := []byte("id,name,price,count,flag,city\n")
	for i := 0; len(b) < size; i++ {
		b = fmt.Appendf(b, "%d,user-%d,%.2f,%d,%t,\"San %d, CA\"\n",
			1000000+i, rnd.IntN(1e6), rnd.Float64()*1000, rnd.IntN(500), i%3 == 0, rnd.IntN(100))
	}
	return b
}

// benchNumbers is about size bytes of CSV with numbers only.
func benchNumbers(size int) []byte {
	rnd := rand.New(rand.NewPCG(1, 2))
	b := []byte("a,b,c,d,e,f,g,h\n")
	for len(b) < size {
		for i := range 8 {
			b = fmt.Appendf(b, "%.4f,", rnd.NormFloat64()*100)
			if i == 7 {
				b[len(b)-1] = '\n'
			}
		}
	}
	return b
}

// benchLines is about size bytes of JSON Lines.
func benchLines(size int) []byte {
	rnd := rand.New(rand.NewPCG(1, 2))
	var b []byte
	for i := 0; len(b) < size; i++ {
		b = fmt.Appendf(b, `{"id": %d, "user": {"name": "user-%d", "age": %d}, "text": "the quick brown fox jumps over the lazy dog", "score": %.3f, "tags": ["a", "bb", "ccc"], "ok": %t}`+"\n",
			i, rnd.IntN(1e6), rnd.IntN(90), rnd.Float64(), i%2 == 0)
	}
	return b
}

func oneSource(name string, data []byte) iter.Seq2[Source, error] {
	return sourcesOf(memorySource(name, data))
}

func sourcesOf(all ...Source) iter.Seq2[Source, error] {
	return func(yield func(Source, error) bool) {
		for _, s := range all {
			if !yield(s, nil) {
				return
			}
		}
	}
}

func memorySource(name string, data []byte) Source {
	return Source{Name: name, Open: func(context.Context) (Content, error) {
		return Content{Reader: bytes.NewReader(data), ReaderAt: bytes.NewReader(data), Size: int64(len(data))}, nil
	}}
}
