package main

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/paddlecloud/pfs/cmd/internal/cliio"
)

// hostileInputs are files that are wrong, or made to do harm.
var hostileInputs = []struct {
	file string
	data func() []byte // nil: size zeros, or the files kept with package convert
	size int64
	args string
	code cliio.Code
	want string // all output, without the name of the program and the command
	most int64  // MiB of memory; 0: calm
}{
	{file: "wide.csv", data: wideTable, code: cliio.Failed,
		want: "wide.csv, line 1000001, offset 8888896: 3 columns instead of 2"},
	{file: "cut.csv.gz", data: func() []byte { b := gzipped(1<<20, table); return b[:len(b)/2] }, code: cliio.Integrity,
		want: "cut.csv.gz: gzip: the compressed data ends in the middle"},
	{file: "flipped.csv.gz", data: func() []byte { return flipped(gzipped(1<<20, table), -6) }, code: cliio.Integrity,
		want: "flipped.csv.gz, line 262145: gzip: the data does not match its checksum"},
	{file: "more.txt.gz", data: func() []byte { return append(gzipped(4, table), "garbage"...) }, code: cliio.Integrity,
		want: `more.txt.gz: gzip: the compressed data ends at byte 28 of the file, and something else follows: "garbage"`},
	{file: "hit.csv.gz", data: func() []byte { b := gzipped(1<<20, table); b[10] |= 6; return b }, code: cliio.Integrity,
		want: "hit.csv.gz: gzip: the compressed data is damaged: flate: corrupt input before offset 1"},
	{file: "joined.csv", data: func() []byte { return []byte("a,b\n1,2\na,b\n") }, args: "--type a=int", code: cliio.Failed,
		want: `joined.csv, line 3, offset 8: column 1 ("a"): "a" is not of type int`},
	{file: "zeros", size: 1 << 30, code: cliio.Failed,
		want: "zeros: neither its content nor its name tells the format: name it"},
	{file: "zeros.csv", size: 1 << 30, code: cliio.Failed, most: aRecord,
		want: "zeros.csv: no end of the record within the limit of 67108864 bytes"},
	{file: "bomb.csv.gz", data: func() []byte { return gzipped(256<<20, make([]byte, 1<<20)) }, code: cliio.Failed, most: aRecord,
		want: "bomb.csv.gz: no end of the record within the limit of 67108864 bytes"},
	{file: "image.csv", data: func() []byte { return []byte("\xff\xd8\xff\xe0 a photograph") }, args: "--format csv", code: cliio.Failed,
		want: `image.csv: the header: column 1 is not UTF-8: byte 0xff at position 1 of "\xff\xd8\xff\xe0 a photograph"; name its encoding, such as latin1; the payload raw takes any bytes`},
	{file: "nest.jsonl", data: func() []byte { return bytes.Repeat([]byte("["), 10_000_000) }, args: "--format jsonl", code: cliio.Failed,
		want: "nest.jsonl, line 1, offset 0: values nest deeper than the limit of 64 at column 65"},
	{file: "nest.pickle", data: func() []byte { return []byte("\x80\x02" + strings.Repeat("]", 5_000_000) + ".") }, code: cliio.Failed, most: aPickle,
		want: "nest.pickle: offset 4194305: the values of the pickle take more than 134217728 bytes before the first sample is complete, " +
			"or because others may still refer to them; make several files of it, or give it as a file that is not compressed"},
	{file: "evil-2.pickle", code: cliio.Failed,
		want: `evil-2.pickle: offset 13: the pickle names "posix.system", which is not data; it was not called, and nothing of the pickle is ever executed`},
	{file: "long.pickle", data: func() []byte { return append([]byte("\x80\x04\x8e"), binary.LittleEndian.AppendUint64(nil, 1<<32)...) }, code: cliio.Failed,
		want: "long.pickle: offset 2: BINBYTES8 of 4294967296 bytes is over the limit of 67108864 for a record"},
	{file: "long.tfrecord", data: func() []byte { return tfHead(1 << 32) }, code: cliio.Integrity,
		want: "long.tfrecord: the input ends at offset 12, in the middle of a record"},
	{file: "flipped.tfrecord", data: func() []byte { return append(tfHead(3), "abc\x07\x00\x00\x00"...) }, code: cliio.Integrity,
		want: "flipped.tfrecord, record 1, offset 0: its 3 bytes do not match their checksum"},
	{file: "summed.parquet", data: func() []byte { return flipped(kept("parquet/sums-v1.parquet"), 100) }, code: cliio.Integrity,
		want: `summed.parquet: row 1, in row group 1 of 2: column "x": the page at offset 4 does not match its checksum`},
	{file: "snappy.parquet", data: func() []byte { return flipped(kept("parquet/flat.parquet"), 18) }, code: cliio.Integrity,
		want: `snappy.parquet: row 1, in row group 1 of 3: column "i64": in its pages from offset 4 on: parquet: could not decompress page: s2: corrupt input`},
	{file: "cut.tar", data: func() []byte { return kept("webdataset/samples.tar")[:512+100] }, code: cliio.Integrity,
		want: "cut.tar: the archive ends at offset 612, in the middle of a file"},
	{file: "long.npy", data: func() []byte { return npyHead("(4294967296, 1024)") }, code: cliio.Integrity,
		want: "long.npy: an array of 4294967296 rows of 8192 bytes, and only 0 bytes are left"},
	{file: "wide.npy", data: func() []byte { return npyHead("(2, 4294967296)") }, code: cliio.Failed,
		want: "wide.npy: rows of shape [4294967296] of 8 bytes each are over the limit of 67108864 bytes for a record"},
	{file: "nothing.npy", data: func() []byte { return npyHead("(1000000000, 0)") }, code: cliio.Failed,
		want: "nothing.npy: an array of shape [1000000000 0] whose rows have no bytes; at most 1024 elements are read"},
	{file: "dog.png", data: func() []byte { return []byte("this is no dog") }, args: "--format images --label-from none", code: cliio.Failed,
		want: `dog.png, record 1, offset 0: not an image: it begins with "this is no dog"`},
}

// The resident memory that a conversion may use, in MiB: calm if no record is large, more while it
// searches the end of a record of 64 MiB, or for a pickle within its budget.
const (
	calm    = 96
	aRecord = 256
	aPickle = 384
)

// released makes paddlectl as "make build" makes it, once. The program under test may contain
// CephFS, whose libraries need up to 24 MiB.
var released = sync.OnceValues(func() (string, error) {
	var err error
	if releasedDir, err = os.MkdirTemp("", "paddlectl"); err != nil {
		return "", err
	}
	program := filepath.Join(releasedDir, "paddlectl")
	if out, err := exec.Command("go", "build", "-C", startDir, "-tags=", "-o", program).CombinedOutput(); err != nil {
		return "", fmt.Errorf("build paddlectl: %w: %s", err, out)
	}
	return program, nil
})

// releasedDir is the directory of the released paddlectl.
var releasedDir string

// suite removes, after all tests, what released has made.
type suite struct{ *testing.M }

func (s suite) Run() int {
	defer func() { os.RemoveAll(releasedDir) }()
	return s.M.Run()
}

// releasedCommand returns a command of the released paddlectl, for checkResident.
func releasedCommand(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	program, err := released()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("resident", append([]string{program}, args...)...)
	cmd.Env = append(os.Environ(), residentVariable+"="+filepath.Join(t.TempDir(), "resident"))
	return cmd
}

// residentVariable names the file for the memory of a command.
const residentVariable = "RESIDENT_FILE"

// resident is a program that runs another one and writes its memory to a file. Linux counts the memory
// of the process that starts another one as memory of that one, and the process of the tests is large.
func resident() {
	cmd := exec.Command(os.Args[1], os.Args[2:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	err := cmd.Run()
	if cmd.ProcessState == nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if err := os.WriteFile(os.Getenv(residentVariable), fmt.Append(nil, residentOf(cmd.ProcessState)), 0o600); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(cmd.ProcessState.ExitCode())
}

// checkResident checks that an ended releasedCommand had at most the given MiB resident.
func checkResident(t *testing.T, cmd *exec.Cmd, most int64) {
	t.Helper()
	_, file, _ := strings.Cut(cmd.Env[len(cmd.Env)-1], "=")
	b, err := os.ReadFile(file)
	got, parseErr := strconv.ParseInt(string(b), 10, 64)
	if err := cmp.Or(err, parseErr); err != nil {
		t.Error(err)
	}
	if got > most {
		t.Errorf("%d MiB resident, want at most %d", got, most)
	}
}

// TestConvertHostile gives each hostile input to a separate process: it reports the exact problem,
// uses little memory, and leaves no files.
func TestConvertHostile(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, tt := range hostileInputs {
		t.Run(tt.file, func(t *testing.T) {
			file := tt.file
			switch {
			case tt.data != nil:
				writeFile(t, file, tt.data())
			case tt.size > 0:
				writeFile(t, file, nil)
				if err := os.Truncate(file, tt.size); err != nil {
					t.Fatal(err)
				}
			default:
				file = convertData(t, "pickle/"+file)
			}
			cmd := releasedCommand(t, append([]string{"dataset", "convert", "--output-path", "out", "--name-prefix", "x", file}, strings.Fields(tt.args)...)...)
			said, err := cmd.CombinedOutput()
			var exit *exec.ExitError
			if !errors.As(err, &exit) || cliio.Code(exit.ExitCode()) != tt.code {
				t.Errorf("%v, want code %d", err, tt.code)
			}
			got := strings.TrimPrefix(strings.TrimSpace(string(said)), "paddlectl: dataset convert: ")
			got, _, _ = strings.Cut(got, "\nhint: ")
			if got = strings.TrimPrefix(got, strings.TrimSuffix(file, tt.file)); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
			if left := filesOf(t, "out"); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
			checkResident(t, cmd, max(tt.most, calm))
		})
	}
}

func writeFile(t *testing.T, name string, data []byte) {
	t.Helper()
	if err := os.WriteFile(name, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// table is a row that a table of two columns repeats.
var table = []byte("1,x\n")

// wideTable has a row too wide at line 1,000,001.
func wideTable() []byte {
	b := []byte("a,b\n")
	for i := 2; i <= 1_000_010; i++ {
		b = fmt.Appendf(b, "%d,x", i)
		if i == 1_000_001 {
			b = append(b, ",y"...)
		}
		b = append(b, '\n')
	}
	return b
}

// gzipped compresses size bytes of repeats, repeated.
func gzipped(size int, repeats []byte) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	for ; size > 0; size -= len(repeats) {
		w.Write(repeats) // a Buffer takes all
	}
	w.Close()
	return out.Bytes()
}

// kept returns a file that is kept with package convert, nil if it cannot be read.
func kept(name string) []byte {
	data, _ := os.ReadFile(filepath.Join(startDir, "../../recordio/convert/testdata", name))
	return data
}

// flipped flips a bit, at places below 0 from the end.
func flipped(b []byte, at int) []byte {
	b[(at+len(b))%len(b)] ^= 1
	return b
}

// tfHead is the head of a TFRecord of n bytes, whose own checksum is right.
func tfHead(n uint64) []byte {
	b := binary.LittleEndian.AppendUint64(nil, n)
	c := crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli))
	return binary.LittleEndian.AppendUint32(b, (c>>15|c<<17)+0xa282ead8)
}

// npyHead is a file of numpy, of float64, without the data.
func npyHead(shape string) []byte {
	head := fmt.Sprintf("{'descr': '<f8', 'fortran_order': False, 'shape': %s, }", shape)
	head += strings.Repeat(" ", 117-len(head)) + "\n"
	return fmt.Appendf(nil, "\x93NUMPY\x01\x00%c\x00%s", len(head), head)
}

// TestRecordsHostile gives malicious files of records to commands that read all records and search
// for more after damage.
func TestRecordsHostile(t *testing.T) {
	t.Chdir(t.TempDir())
	const none, gz = 0, 2
	for _, tt := range []struct {
		file string
		data []byte
		size int64 // number of zeros after data
		want string
	}{
		{"giant", chunkHead(none, 1<<32-1, 1, nil), 0,
			"giant: chunk 0 at byte 0: limit exceeded: the header says 4294967295 bytes, the limit is 268435456"},
		{"nothing", chunkHead(none, 8, 1e9, make([]byte, 8)), 0,
			"nothing: chunk 0 at byte 0: malformed: the header says 1000000000 records in 8 bytes"},
		{"bomb", chunkOf(gz, 1, gzipped(300<<20, make([]byte, 1<<20))), 0,
			"bomb: chunk 0 at byte 0: limit exceeded: more than 268435456 bytes after decompression"},
		{"short", chunkHead(none, 200<<20, 1, nil), 0,
			"short: chunk 0 at byte 0: ends in the middle of a chunk: 0 bytes of a payload of 209715200 are there"},
		{"zeros", nil, 128 << 20,
			"zeros: chunk 0 at byte 0: malformed: no chunk begins with 00 00 00 00"},
	} {
		writeFile(t, tt.file, tt.data)
		if err := os.Truncate(tt.file, max(tt.size, int64(len(tt.data)))); err != nil {
			t.Fatal(err)
		}
		for _, args := range [][]string{{"recordio", "cat"}, {"recordio", "verify"}, {"dataset", "cat"}} {
			cmd := releasedCommand(t, append(args, tt.file)...)
			said, err := cmd.CombinedOutput()
			if err == nil || strings.Count(string(said), tt.want) != 1 {
				t.Errorf("%v %s: %v: %s", args, tt.file, err, said)
			}
			checkResident(t, cmd, aRecord)
		}
	}
}

// chunkOf is a chunk with a right checksum.
func chunkOf(compressor uint32, records uint32, payload []byte) []byte {
	return chunkHead(compressor, uint32(len(payload)), records, payload)
}

// chunkHead returns the header of a chunk, whatever its payload.
func chunkHead(compressor, size, records uint32, payload []byte) []byte {
	var b []byte
	for _, word := range []uint32{0x01020304, crc32.ChecksumIEEE(payload), compressor, size, records} {
		b = binary.LittleEndian.AppendUint32(b, word)
	}
	return append(b, payload...)
}

// TestRecordsOfNothing reads a chunk of the maximum size with as many records as possible, which
// need as many positions as it has bytes. The memory is that of the data and the positions, twice
// the limit, and a third of that for the arrays from which both grew.
func TestRecordsOfNothing(t *testing.T) {
	t.Chdir(t.TempDir())
	const chunk, gz = 256 << 20, 2
	writeFile(t, "empty", chunkOf(gz, chunk/4, gzipped(chunk, make([]byte, 1<<20))))
	for args, want := range map[string]string{
		"verify -j 1 empty":  "67108864 records in 1 chunk",
		"verify -j 2 empty":  "67108864 records in 1 chunk",
		"get empty 67108863": "\n",
	} {
		cmd := releasedCommand(t, append([]string{"recordio"}, strings.Fields(args)...)...)
		said, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(said), want) {
			t.Errorf("%s: %v: %s", args, err, said)
		}
		checkResident(t, cmd, 2*chunk>>20*4/3+64)
	}
}
