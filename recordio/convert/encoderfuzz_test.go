package convert

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/vmihailenco/msgpack/v5"
)

// walkScript makes the calls that the bytes of a script encode, in any order; calls in a wrong
// order must become an error of the encoder.
func walkScript(script []byte, enc Encoder) {
	for i, op := range script {
		arg := int(op >> 4)
		text := script[i : i+min(arg, len(script)-i)]
		switch op & 15 {
		case 0:
			enc.Map(arg - 8)
		case 1:
			enc.Array(arg - 8)
		case 2, 3, 4:
			enc.End()
		case 5, 6:
			enc.Key("key")
		case 7:
			enc.Nil()
		case 8:
			enc.Bool(arg > 7)
		case 9:
			enc.Int(int64(arg-8) << (arg * 4))
		case 10:
			enc.Uint(1 << (arg * 4))
		case 11:
			enc.Float64(float64(arg) / 8)
		case 12:
			enc.String(bytes.ToValidUTF8(text, nil))
		case 13:
			enc.Bytes(text)
		case 14:
			enc.Number([]byte("-1234567890123456789012")[:arg+2])
		case 15:
			enc.Tensor(DType(arg), []int64{int64(len(text))}, text)
		}
	}
}

// FuzzEncoders makes any calls: an encoder ends with an error, or with a payload that others read
// as exactly one value.
func FuzzEncoders(f *testing.F) {
	f.Add([]byte("\x90\x95\x31\x9b\xac\x02\x05\xdd\x02"))
	f.Add([]byte{0xa1, 0x2f, 0x68, 0x02, 0x91, 0x02})
	f.Fuzz(func(t *testing.T, script []byte) {
		for _, e := range Encodings {
			enc := e.New(Limits{Record: 1 << 12, Depth: 8})
			walkScript(script, enc)
			payload := enc.Append(nil)
			if err := enc.Err(); err != nil {
				if len(payload) > 0 || !knownKind(err) {
					t.Fatalf("%s: %d bytes and %v", e.Name, len(payload), err)
				}
				continue
			}
			switch e.Name {
			case "json":
				if !json.Valid(payload) {
					t.Fatalf("json: %q", payload)
				}
			case "pickle":
				if !bytes.HasPrefix(payload, []byte{opProto, 2}) || payload[len(payload)-1] != opStop {
					t.Fatalf("pickle: %q", payload)
				}
			case "msgpack":
				r := bytes.NewReader(payload)
				if err := msgpack.NewDecoder(r).Skip(); err != nil || r.Len() > 0 {
					t.Fatalf("msgpack: %x: %v, %d bytes left", payload, err, r.Len())
				}
			}
		}
	})
}
