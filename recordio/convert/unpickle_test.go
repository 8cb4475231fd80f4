package convert

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"
)

// The samples that simple and arrays of testdata/make_foreign.py make. Python 2 has no bytes type:
// text that is not UTF-8 becomes bytes.
var (
	simpleSamples = []string{
		`["text 中","YnkA/3Rlcw==",1,-1,255,65536,-2147483648]`,
		`[9223372036854775807,-9223372036854775808,18446744073709551615,2147483648,true,false,null]`,
		`{"a":1.5,"b":[1,[2],[]],"e":{}}`,
	}
	arraySamples = []string{`[[0.0,1.0,2.0],[3.0,4.0,5.0]]`, `[[0,1,2],[3,4,5]]`, `2.5`, `-7`, `true`, `0.5`,
		`["YWI=","Yw=="]`, `[]`, `3`, `["x","中"]`}
	housingSamples = []string{
		`[[0.00632,18.0,2.31,0.0,0.538,6.575,65.2,4.09,1.0,296.0,15.3,396.9,4.98],[24.0]]`,
		`[[0.02731,0.0,7.07,0.0,0.469,6.421,78.9,4.9671,2.0,242.0,17.8,396.9,9.14],[21.6]]`,
		`[[0.02729,0.0,7.07,0.0,0.469,7.185,61.1,4.9671,2.0,242.0,17.8,392.83,4.03],[34.7]]`,
		`[[0.03237,0.0,2.18,0.0,0.458,6.998,45.8,6.0622,3.0,222.0,18.7,394.63,2.94],[33.4]]`,
		`[[0.06905,0.0,2.18,0.0,0.458,7.147,54.2,6.0622,3.0,222.0,18.7,396.9,5.33],[36.2]]`,
	}
)

func TestUnpickle(t *testing.T) {
	type test struct {
		name string
		want []string
	}
	tests := []test{
		{"py2-housing-00000", housingSamples[:3]}, // split writes one too many to the first
		{"py2-housing-00001", housingSamples[3:]},
		{"housing-4", housingSamples},
		{"memo", []string{`["shared"]`, `["shared"]`, `[["shared"],1]`}},
		{"several", []string{`{"i":0}`, `{"i":1}`, `{"i":2}`}},
	}
	for p := range 6 {
		tests = append(tests, test{fmt.Sprintf("py3-arrays-%d", p), arraySamples})
	}
	for p := range 3 {
		tests = append(tests, test{fmt.Sprintf("py2-arrays-%d", p), arraySamples})
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			data := readFile(t, "testdata/pickle/"+tt.name+".pickle")
			checkRecords(t, decodeWith(pickleFormat, fileInput("a.pickle", data), Options{}), tt.want)
			checkRecords(t, decodeWith(pickleFormat, streamInput("a.pickle", data), Options{}), tt.want)
			checkRecords(t, streamed(data), tt.want)
		})
	}
}

// streamed reads data as an input that is too large to be kept.
func streamed(data []byte) decoded {
	return decodeWith(Format{open: func(in Input, opts Options) (Decoder, error) {
		d := newPickleDecoder(in, opts.Limits.withDefaults())
		d.machine.plan = planPickles(in, d.limits, 0)
		return d, nil
	}}, fileInput("a.pickle", data), Options{})
}

// Every protocol of both Pythons gives the same values; the last sample has an infinity, which JSON
// has not.
func TestUnpickleScalars(t *testing.T) {
	for _, name := range glob(t, "testdata/pickle/*-simple-*.pickle") {
		t.Run(name, func(t *testing.T) {
			d := decodeWith(pickleFormat, fileInput("a.pickle", readFile(t, name)), Options{})
			if d.err != nil || len(d.bad) != 1 {
				t.Fatalf("error %v, bad records %q; want one bad record", d.err, d.bad)
			}
			d.bad = nil
			checkRecords(t, d, simpleSamples)
		})
	}
}

func TestUnpickleOrdered(t *testing.T) {
	dec, err := pickleFormat.open(fileInput("a", readFile(t, "testdata/pickle/ordered.pickle")), Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{`{"z":1,"a":2}`, `[1,2]`, `[3]`, `"YmE="`, "", `1180591620717411303424`}
	enc := newJSON(Limits{})
	for i, want := range want {
		if err := dec.Next(enc); err != nil {
			t.Fatal(err)
		}
		if enc.Err() != nil { // JSON has no complex numbers
			enc.Reset()
			if want == "" {
				continue
			}
		}
		if got := string(enc.Append(nil)); got != want {
			t.Errorf("sample %d is %s, want %s", i, got, want)
		}
	}
}

func TestUnpickleRefuses(t *testing.T) {
	refused := func(offset int, name string) string {
		return fmt.Sprintf("offset %d: the pickle names %q, which is not data; it was not called, and nothing of the pickle is ever executed", offset, name)
	}
	tests := []struct{ name, want string }{
		{"evil-0", refused(17, "posix.system")},
		{"evil-2", refused(13, "posix.system")},
		{"evil-4", refused(37, "posix.system")},
		{"loop", "record 1: values nest deeper than the limit, or contain themselves"},
		{"objects", `offset 115: an array of Python objects (dtype "O8"), which only Python can read; save it with a dtype of its own`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			data := readFile(t, "testdata/pickle/"+tt.name+".pickle")
			checkMessage(t, decodeWith(pickleFormat, fileInput("a.pickle", data), Options{}), tt.want)
		})
	}
}

func TestUnpickleErrors(t *testing.T) {
	tests := []struct{ name, data, want string }{
		{"nothing", "", "the input ends at offset 0, in the middle of a pickle"},
		{"text", "hello", "not a pickle, or damaged at its beginning: offset 0: BINGET 101 of nothing"},
		{"no opcode", "\x80\x02\xff", "offset 2: 0xff is not a pickle opcode"},
		{"protocol", "\x80\x09.", "offset 0: protocol 9 of pickle; 0 to 5 are known"},
		{"cut", "\x80\x02]q", "the input ends at offset 4, in the middle of BINPUT"},
		{"no stop", "\x80\x02]", "the input ends at offset 3, in the middle of a pickle"},
		{"empty stack", ".", "not a pickle, or damaged at its beginning: offset 0: STOP with 0 values on the stack"},
		{"mark", "(.", "offset 1: STOP with 0 values on the stack"},
		{"length", "\x80\x02T\xff\xff\xff\x7f", "offset 2: BINSTRING of 2147483647 bytes is over the limit of 67108864 for a record"},
		{"long length", "\x80\x04\x8e\xff\xff\xff\xff\xff\xff\xff\x7f", "offset 2: BINBYTES8 of 9223372036854775807 bytes is over the limit of 67108864 for a record"},
		{"huge length", "\x80\x04\x8e\xff\xff\xff\xff\xff\xff\xff\xff", "offset 2: BINBYTES8 18446744073709551615"},
		{"claimed", "\x80\x02T\xff\xff\xff\x03ab", "the input ends at offset 9, in the middle of BINSTRING"},
		{"negative", "\x80\x02T\xff\xff\xff\xff", "offset 2: BINSTRING of -1 bytes"},
		{"persistent", "\x80\x02K\x01Q.", "offset 4: opcode BINPERSID makes an object of a class, or takes something from outside of the pickle; only data is read"},
		{"instance", "(i__main__\nX\n.", "offset 1: opcode INST makes an object of a class, or takes something from outside of the pickle; only data is read"},
		{"reduce", "\x80\x02K\x01)R.", "offset 5: REDUCE of something that cannot be called"},
		{"ndarray", "\x80\x02cnumpy\nndarray\n)R.", "offset 18: REDUCE of something that cannot be called"},
		{"class", "\x80\x02cnumpy\nndarray\n.", "record 1: a class of Python, which is not data"},
		{"shape", "\x80\x02cnumpy._core.numeric\n_frombuffer\n(C\x01acnumpy\ndtype\nU\x02u1\x85RJ\xff\xff\xff\x7f\x85U\x01CtR.",
			"record 1: rows of 2147483647 bytes are over the limit of 67108863 for a record"},
		{"integer", "I12x\n.", `not a pickle, or damaged at its beginning: offset 0: "12x" is not an integer`},
		{"digits", "L" + strings.Repeat("9", 5000) + "L\n.", "offset 0: an integer of more than 4300 digits"},
		{"bytes of integer", "\x80\x02\x8b\xff\xff\x00\x00" + strings.Repeat("x", 65535), "offset 2: an integer of 65535 bytes; at most 1791 are read"},
		{"itself", "\x80\x02]q\x00h\x00a.", "record 1: a list that contains itself"},
		{"itself, protocol 0", "(lp0\ng0\na.", "record 1: a list that contains itself"},
		{"in a tuple of itself", "\x80\x02]q\x00h\x00\x85q\x01a0h\x01.", "record 1: values nest deeper than the limit, or contain themselves"},
		{"key", "\x80\x02}N]s.", "record 1: a key of a dict that is neither text nor an integer"},
		{"odd", "\x80\x02}(K\x01u.", "offset 6: SETITEMS with a key without a value"},
		{"escape", "S'\\x1'\n.", `not a pickle, or damaged at its beginning: offset 0: \x without two digits`},
		{"surrogate", "V\\ud800\n.", "not a pickle, or damaged at its beginning: offset 0: half of a character"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			checkMemory(t, 8<<20, func() {
				checkMessage(t, decodeWith(pickleFormat, fileInput("a.pickle", []byte(tt.data)), Options{}), tt.want)
			})
		})
	}
}

// A few bytes that describe 2^60 values: pairs of the same pair.
func TestUnpickleBomb(t *testing.T) {
	var b bytes.Buffer
	b.WriteString("\x80\x02]K\x00")
	for range 60 {
		b.WriteString("2\x86") // DUP, TUPLE2
	}
	b.WriteString("a.")
	checkMemory(t, 64<<20, func() {
		d := decodeWith(pickleFormat, fileInput("a", b.Bytes()), Options{Limits: Limits{Record: 1 << 20}})
		checkMessage(t, d, "record 1: the values of the sample exceed the limit for a record")
	})
	deep := strings.Repeat("]", 1000) + strings.Repeat("a", 999) + "."
	checkMessage(t, decodeWith(pickleFormat, fileInput("a", []byte(deep)), Options{}),
		"record 1: values nest deeper than the limit, or contain themselves")
}

// A list that is larger than memory may be is read from a file, and refused from a stream.
func TestUnpickleMemory(t *testing.T) {
	const samples = 3000
	var b bytes.Buffer
	b.WriteString("\x80\x02]q\x00")
	for i := 0; i < samples; i += 100 {
		b.WriteByte('(')
		for k := range 100 { // each in the memo, as Python does
			b.WriteString("T\x00\x20\x00\x00" + strings.Repeat("x", 8192))
			b.Write([]byte{'r', byte(i + k), byte((i + k) >> 8), 0, 0})
		}
		b.WriteByte('e')
	}
	b.WriteByte('.')
	opts := Options{Limits: Limits{Record: 1 << 20}}
	checkMemory(t, 200<<20, func() {
		dec, err := pickleFormat.open(fileInput("a", b.Bytes()), opts)
		if err != nil {
			t.Fatal(err)
		}
		enc := newRaw(opts.Limits)
		var payload []byte
		for range samples {
			if err := dec.Next(enc); err != nil {
				t.Fatal(err)
			}
			if payload = enc.Append(payload[:0]); len(payload) != 8192 {
				t.Fatalf("a sample of %d bytes", len(payload))
			}
		}
	})
	d := decodeWith(pickleFormat, streamInput("a", b.Bytes()), opts)
	if d.err == nil || !strings.Contains(d.err.Error(), "the values of the pickle take more than 2097152 bytes") {
		t.Errorf("a stream ends with %v", d.err)
	}
}

// A tuple of two lists begins as a list does.
func TestUnpickleTupleOfLists(t *testing.T) {
	data := []byte("\x80\x02](K\x01K\x02e](K\x03K\x04e\x86.")
	checkRecords(t, streamed(data), []string{`[1,2]`, `[3,4]`})
}

func TestUnpickleFloats(t *testing.T) {
	for text, want := range map[string]float64{"1.5": 1.5, "inf": math.Inf(1), "-inf": math.Inf(-1), "1e999": math.Inf(1)} {
		got, err := parsePickleFloat(&pickleEvent{text: []byte(text)})
		if err != nil || got != want {
			t.Errorf("%s is %v, %v; want %v", text, got, err, want)
		}
	}
}

func TestUnpickleDamage(t *testing.T) {
	for _, name := range []string{"py2-arrays-0", "py3-arrays-5", "py2-housing-00000"} {
		checkDamage(t, pickleFormat, readFile(t, "testdata/pickle/"+name+".pickle"))
	}
}

func FuzzUnpickle(f *testing.F) {
	fuzzFormats(f, glob(f, "testdata/pickle/*.pickle"), pickleFormat)
}

// TestPickledStandardClasses reads a defaultdict and a Decimal in several protocols.
func TestPickledStandardClasses(t *testing.T) {
	for protocol, data := range map[int]string{
		0: "\x28\x6c\x70\x30\x0a\x28\x64\x70\x31\x0a\x56\x64\x0a\x70\x32\x0a\x63\x63\x6f\x6c\x6c\x65\x63\x74\x69\x6f\x6e\x73\x0a\x64\x65\x66\x61\x75\x6c\x74\x64\x69\x63\x74\x0a\x70\x33\x0a\x28\x63\x5f\x5f\x62\x75\x69\x6c\x74\x69\x6e\x5f\x5f\x0a\x6c\x69\x73\x74\x0a\x70\x34\x0a\x74\x70\x35\x0a\x52\x70\x36\x0a\x56\x61\x0a\x70\x37\x0a\x28\x6c\x70\x38\x0a\x49\x31\x0a\x61\x73\x73\x56\x6e\x0a\x70\x39\x0a\x67\x33\x0a\x28\x74\x52\x70\x31\x30\x0a\x73\x56\x78\x0a\x70\x31\x31\x0a\x63\x64\x65\x63\x69\x6d\x61\x6c\x0a\x44\x65\x63\x69\x6d\x61\x6c\x0a\x70\x31\x32\x0a\x28\x56\x31\x32\x2e\x35\x30\x0a\x70\x31\x33\x0a\x74\x70\x31\x34\x0a\x52\x70\x31\x35\x0a\x73\x61\x2e",
		2: "\x80\x02\x5d\x71\x00\x7d\x71\x01\x28\x58\x01\x00\x00\x00\x64\x71\x02\x63\x63\x6f\x6c\x6c\x65\x63\x74\x69\x6f\x6e\x73\x0a\x64\x65\x66\x61\x75\x6c\x74\x64\x69\x63\x74\x0a\x71\x03\x63\x5f\x5f\x62\x75\x69\x6c\x74\x69\x6e\x5f\x5f\x0a\x6c\x69\x73\x74\x0a\x71\x04\x85\x71\x05\x52\x71\x06\x58\x01\x00\x00\x00\x61\x71\x07\x5d\x71\x08\x4b\x01\x61\x73\x58\x01\x00\x00\x00\x6e\x71\x09\x68\x03\x29\x52\x71\x0a\x58\x01\x00\x00\x00\x78\x71\x0b\x63\x64\x65\x63\x69\x6d\x61\x6c\x0a\x44\x65\x63\x69\x6d\x61\x6c\x0a\x71\x0c\x58\x05\x00\x00\x00\x31\x32\x2e\x35\x30\x71\x0d\x85\x71\x0e\x52\x71\x0f\x75\x61\x2e",
		4: "\x80\x04\x95\x7b\x00\x00\x00\x00\x00\x00\x00\x5d\x94\x7d\x94\x28\x8c\x01\x64\x94\x8c\x0b\x63\x6f\x6c\x6c\x65\x63\x74\x69\x6f\x6e\x73\x94\x8c\x0b\x64\x65\x66\x61\x75\x6c\x74\x64\x69\x63\x74\x94\x93\x94\x8c\x08\x62\x75\x69\x6c\x74\x69\x6e\x73\x94\x8c\x04\x6c\x69\x73\x74\x94\x93\x94\x85\x94\x52\x94\x8c\x01\x61\x94\x5d\x94\x4b\x01\x61\x73\x8c\x01\x6e\x94\x68\x05\x29\x52\x94\x8c\x01\x78\x94\x8c\x07\x64\x65\x63\x69\x6d\x61\x6c\x94\x8c\x07\x44\x65\x63\x69\x6d\x61\x6c\x94\x93\x94\x8c\x05\x31\x32\x2e\x35\x30\x94\x85\x94\x52\x94\x75\x61\x2e",
		5: "\x80\x05\x95\x7b\x00\x00\x00\x00\x00\x00\x00\x5d\x94\x7d\x94\x28\x8c\x01\x64\x94\x8c\x0b\x63\x6f\x6c\x6c\x65\x63\x74\x69\x6f\x6e\x73\x94\x8c\x0b\x64\x65\x66\x61\x75\x6c\x74\x64\x69\x63\x74\x94\x93\x94\x8c\x08\x62\x75\x69\x6c\x74\x69\x6e\x73\x94\x8c\x04\x6c\x69\x73\x74\x94\x93\x94\x85\x94\x52\x94\x8c\x01\x61\x94\x5d\x94\x4b\x01\x61\x73\x8c\x01\x6e\x94\x68\x05\x29\x52\x94\x8c\x01\x78\x94\x8c\x07\x64\x65\x63\x69\x6d\x61\x6c\x94\x8c\x07\x44\x65\x63\x69\x6d\x61\x6c\x94\x93\x94\x8c\x05\x31\x32\x2e\x35\x30\x94\x85\x94\x52\x94\x75\x61\x2e",
	} {
		got, stats, err := payloads(t, Options{Format: "pickle", Encoding: "json"}, memorySource("x", []byte(data)))
		if err != nil || len(got) != 1 || got[0] != `{"d":{"a":[1]},"n":{},"x":"12.50"}` {
			t.Errorf("protocol %d: %q, %v", protocol, got, err)
		}
		text := fmt.Sprint(stats.Notes)
		if !strings.Contains(text, "d: a defaultdict becomes a map") || !strings.Contains(text, "x: a Decimal becomes text") {
			t.Errorf("protocol %d: notes %s", protocol, text)
		}
	}
}
