package convert

import (
	"bytes"
	"encoding/binary"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
)

// tfrecord frames a record.
func tfrecordOf(data string) []byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(data)))
	b = binary.LittleEndian.AppendUint32(b, maskedCRC(b))
	b = append(b, data...)
	return binary.LittleEndian.AppendUint32(b, maskedCRC([]byte(data)))
}

func TestTFRecord(t *testing.T) {
	data := readFile(t, "testdata/tfrecord/examples.tfrecord")
	d := decodeWith(tfrecordFormat, fileInput("a.tfrecord", data), Options{})
	checkRecords(t, d, []string{
		`{"weights":[0.5,0.0],"label":[-1],"image":["AP8A"],"name":["bjA="]}`,
		`{"weights":[0.5,1.0],"label":[0],"image":["Af8A"],"name":["bjE="]}`,
		`{"weights":[0.5,2.0],"label":[1],"image":["Av8A"],"name":["bjI="]}`,
	})
	if f, err := Sniff(data, "x"); err != nil || f.Name != "tfrecord" {
		t.Errorf("Sniff finds %v, %v", f, err)
	}
	raw := decodeWith(tfrecordRawFormat, fileInput("a", append(tfrecordOf("abc"), tfrecordOf("")...)), Options{})
	checkRecords(t, raw, []string{`"YWJj"`, `""`})
}

// message frames a field of a message.
func message(number byte, content string) string {
	return string([]byte{number<<3 | byte(protowire.BytesType), byte(len(content))}) + content
}

// entry is a pair of a map.
func entry(key, value string) string { return message(1, message(1, key)+message(2, value)) }

func TestExamples(t *testing.T) {
	tests := []struct{ name, record, want string }{
		{"empty", "", `{}`},
		{"none", message(1, entry("a", "")), `{"a":null}`},
		{"unpacked ints", message(1, entry("a", message(3, "\x08\x01\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"))), `{"a":[1,-1]}`},
		{"unpacked floats", message(1, entry("a", message(2, "\x0d\x00\x00\x00\x3f"))), `{"a":[0.5]}`},
		{"no bytes", message(1, entry("a", message(1, ""))), `{"a":[]}`},
		{"unknown field", message(1, entry("a", message(1, message(1, "x")))) + "\x78\x01", `{"a":["eA=="]}`},
		{"sequence", message(1, entry("a", message(3, message(1, "\x05")))) +
			message(2, entry("l", message(1, message(1, message(1, "x")))+message(1, message(1, message(1, "y"))))),
			`{"context":{"a":[5]},"feature_lists":{"l":[["eA=="],["eQ=="]]}}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			checkRecords(t, decodeWith(tfrecordFormat, fileInput("a", tfrecordOf(tt.record)), Options{}), []string{tt.want})
		})
	}
}

func TestTFRecordErrors(t *testing.T) {
	good := tfrecordOf(message(1, entry("a", "")))
	flip := func(data []byte, at int) []byte {
		data = bytes.Clone(data)
		data[at] ^= 1
		return data
	}
	large := make([]byte, 8, tfHead)
	large[3] = 8 // 128 MiB
	large = binary.LittleEndian.AppendUint32(large, maskedCRC(large))
	huge := bytes.Repeat([]byte{0xff}, 8)
	huge = binary.LittleEndian.AppendUint32(huge, maskedCRC(huge))
	const notExample = "not a tf.train.Example; the format tfrecord-raw reads records of anything"
	tests := []struct {
		name    string
		data    []byte
		want    string
		records int
	}{
		{"data", bytes.Join([][]byte{good, flip(good, 13), good}, nil), "record 2, offset 25: its 9 bytes do not match their checksum", 2},
		{"length", append(bytes.Clone(good), flip(good, 0)...), "record 2 at offset 25: its length does not match the checksum, so the position of the next one is unknown", 1},
		{"truncated head", good[:5], "the input ends at offset 5, in the middle of the length of a record", 0},
		{"truncated", good[:15], "the input ends at offset 15, in the middle of a record", 0},
		{"large", large, "the input ends at offset 12, in the middle of a record", 0},
		{"huge", huge, "the input ends at offset 12, in the middle of a record", 0},
		{"no example", append(tfrecordOf("hello"), good...), "record 1, offset 0: " + notExample, 1},
		{"wire type", tfrecordOf("\x08\x01"), "record 1, offset 0: " + notExample, 0},
		{"length of field", tfrecordOf("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), "record 1, offset 0: " + notExample, 0},
		{"odd floats", tfrecordOf(message(1, entry("a", message(2, message(1, "abc"))))), "record 1, offset 0: " + notExample, 0},
		{"twice", tfrecordOf(message(1, entry("a", "")+entry("a", ""))), `record 1, offset 0: two features named "a"`, 0},
		{"name", tfrecordOf(message(1, entry("\xff", ""))), `record 1, offset 0: the name of feature "\xff" is not UTF-8`, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			checkMemory(t, 8<<20, func() {
				d := decodeWith(tfrecordFormat, fileInput("a", tt.data), Options{})
				checkMessage(t, d, tt.want)
				if len(d.records) != tt.records {
					t.Errorf("%d records around it, want %d", len(d.records), tt.records)
				}
			})
		})
	}
	small := Options{Limits: Limits{Record: 6}}
	d := decodeWith(tfrecordFormat, fileInput("a", append(bytes.Clone(good), tfrecordOf("")...)), small)
	checkMessage(t, d, "record 1, offset 0: 9 bytes are over the limit of 6 for a record")
	if len(d.records) != 1 {
		t.Errorf("%d records behind a large one, want 1", len(d.records))
	}
}

func TestTFRecordDamage(t *testing.T) {
	checkDamage(t, tfrecordFormat, readFile(t, "testdata/tfrecord/examples.tfrecord"))
}

func FuzzTFRecord(f *testing.F) {
	fuzzFormats(f, []string{"testdata/tfrecord/examples.tfrecord"}, tfrecordFormat, tfrecordRawFormat)
}

// FuzzExample feeds records without their checksums, which a fuzzer does not find.
func FuzzExample(f *testing.F) {
	f.Add([]byte(message(1, entry("a", message(3, message(1, "\x05")))) + message(2, entry("l", message(1, "")))))
	f.Fuzz(func(t *testing.T, data []byte) {
		enc := newMsgpack(Limits{Record: 1 << 20})
		if err := (exampleEncoder{enc, 1 << 20}).example(data); err != nil {
			if !knownKind(err) {
				t.Errorf("%v is of no kind", err)
			}
			return
		}
		if enc.Append(nil); enc.Err() != nil && !knownKind(enc.Err()) {
			t.Error(enc.Err())
		}
	})
}
