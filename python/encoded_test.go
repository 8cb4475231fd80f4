package python_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"path/filepath"
	"testing"

	"github.com/paddlecloud/pfs/recordio"
	"github.com/paddlecloud/pfs/recordio/convert"
)

// samples is how many are written in each encoding.
const samples = 300

// encode writes the samples that tests/test_encoded.py expects, in every encoding: as
// sample.NAME, and arrays of numbers, which need numpy to be read, as array.NAME.
func encode(t *testing.T, dir string) {
	t.Helper()
	for _, encoding := range convert.Encodings {
		if encoding.Name == "raw" {
			continue // one value of bytes or text
		}
		e := encoding.New(convert.Limits{Record: 1 << 20, Depth: 10})
		for name, add := range map[string]func(convert.Encoder, int){"sample": sample, "array": array} {
			var records [][]byte
			for i := range samples {
				add(e, i)
				if err := e.Err(); err != nil {
					t.Fatalf("%s %d as %s: %v", name, i, encoding.Name, err)
				}
				records = append(records, e.Append(nil))
			}
			opts := recordio.WriterOptions{Compressor: recordio.Snappy, ChunkBytes: 4096}
			writeFile(t, filepath.Join(dir, name+"."+encoding.Name), opts, records)
		}
	}
}

func sample(e convert.Encoder, i int) {
	e.Map(-1)
	e.Key("id")
	e.Int(int64(i))
	e.Key("price")
	e.Float64(float64(i) / 8)
	e.Key("name")
	e.String(fmt.Appendf(nil, "house é %d", i))
	e.Key("raw")
	e.Bytes([]byte{byte(i), 0xff, 0})
	e.Key("big")
	e.Uint(1<<63 + uint64(i))
	e.Key("tags")
	e.Array(4)
	e.Nil()
	e.Bool(i%2 == 0)
	e.Int(int64(-i))
	e.Map(0)
	e.End()
	e.End()
	e.End()
}

// array is a pair, as the samples of the housing data set are: features and price.
func array(e convert.Encoder, i int) {
	var data []byte
	for j := range 6 {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(float32(i+j)))
	}
	e.Array(2)
	e.Tensor(convert.Float32, []int64{2, 3}, data)
	e.Int(int64(i))
	e.End()
}
