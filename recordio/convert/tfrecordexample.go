package convert

import (
	"encoding/binary"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
)

// protoField is one field of a message.
type protoField struct {
	number protowire.Number
	typ    protowire.Type
	value  uint64 // of a varint
	bytes  []byte // of all others
}

func badProto() error {
	return faultf(ErrSyntax, "not a tf.train.Example; the format tfrecord-raw reads records of anything")
}

// eachMessage calls fn with the content of each field of that number, which must be a message or
// text. It ignores other fields, as protocol buffers require.
func eachMessage(message []byte, number protowire.Number, fn func(content []byte) error) error {
	return eachField(message, func(f protoField) error {
		if f.number != number {
			return nil
		}
		if f.typ != protowire.BytesType {
			return badProto()
		}
		return fn(f.bytes)
	})
}

// eachField calls fn with each field of a message. Groups, which these messages do not use, are
// errors.
func eachField(message []byte, fn func(protoField) error) error {
	for len(message) > 0 {
		number, typ, n := protowire.ConsumeTag(message)
		if n < 0 || typ == protowire.StartGroupType {
			return badProto()
		}
		rest := message[n:]
		size := protowire.ConsumeFieldValue(number, typ, rest)
		if size < 0 {
			return badProto()
		}
		f := protoField{number: number, typ: typ, bytes: rest[:size]}
		switch typ {
		case protowire.VarintType:
			f.value, _ = protowire.ConsumeVarint(rest)
		case protowire.BytesType:
			f.bytes, _ = protowire.ConsumeBytes(rest)
		}
		if err := fn(f); err != nil {
			return err
		}
		message = rest[size:]
	}
	return nil
}

// exampleEncoder encodes the content of Examples.
type exampleEncoder struct {
	enc   Encoder
	limit int // of the bytes of numbers of one feature
}

// example encodes an Example {1: Features} or a SequenceExample {1: Features, 2: FeatureLists} as a
// map.
func (e exampleEncoder) example(record []byte) error {
	sequence := false
	if err := eachMessage(record, 2, func([]byte) error { sequence = true; return nil }); err != nil {
		return err
	}
	if !sequence {
		return e.entries(record, 1, e.feature)
	}
	e.enc.Map(2)
	e.enc.Key("context")
	if err := e.entries(record, 1, e.feature); err != nil {
		return err
	}
	e.enc.Key("feature_lists")
	if err := e.entries(record, 2, e.featureList); err != nil {
		return err
	}
	e.enc.End()
	return nil
}

// entries encodes the message in field number of record, which is one map {1: key, 2: value}.
func (e exampleEncoder) entries(record []byte, number protowire.Number, value func([]byte) error) error {
	e.enc.Map(-1)
	seen := map[string]bool{}
	err := eachMessage(record, number, func(features []byte) error {
		return eachMessage(features, 1, func(entry []byte) error {
			return e.entry(entry, seen, value)
		})
	})
	e.enc.End()
	return err
}

func (e exampleEncoder) entry(entry []byte, seen map[string]bool, value func([]byte) error) error {
	var key, content []byte
	keep := func(to *[]byte) func([]byte) error {
		return func(b []byte) error { *to = b; return nil }
	}
	if err := eachMessage(entry, 1, keep(&key)); err != nil {
		return err
	}
	if err := eachMessage(entry, 2, keep(&content)); err != nil {
		return err
	}
	if !utf8.Valid(key) {
		return faultf(ErrSyntax, "the name of feature %q is not UTF-8", key)
	}
	name := string(key)
	if seen[name] {
		return faultf(ErrSyntax, "two features named %q", name)
	}
	seen[name] = true
	e.enc.Key(name)
	return value(content)
}

// featureList encodes {1: Feature, repeated} as an array.
func (e exampleEncoder) featureList(list []byte) error {
	e.enc.Array(-1)
	err := eachMessage(list, 1, e.feature)
	e.enc.End()
	return err
}

// feature encodes one of {1: BytesList, 2: FloatList, 3: Int64List}; nil if there is none. The last
// one counts.
func (e exampleEncoder) feature(feature []byte) error {
	var kind protowire.Number
	var list []byte
	err := eachField(feature, func(f protoField) error {
		if f.number < 1 || f.number > 3 {
			return nil
		}
		if f.typ != protowire.BytesType {
			return badProto()
		}
		kind, list = f.number, f.bytes
		return nil
	})
	if err != nil {
		return err
	}
	switch kind {
	case 1:
		return e.bytesList(list)
	case 2:
		return e.numberList(list, Float32)
	case 3:
		return e.numberList(list, Int64)
	}
	e.enc.Nil()
	return nil
}

func (e exampleEncoder) bytesList(list []byte) error {
	e.enc.Array(-1)
	err := eachMessage(list, 1, func(b []byte) error { e.enc.Bytes(b); return nil })
	e.enc.End()
	return err
}

// numberList encodes {1: numbers}. The numbers are packed into one field, or have a field each.
func (e exampleEncoder) numberList(list []byte, dtype DType) error {
	var data []byte
	err := eachField(list, func(f protoField) (err error) {
		if f.number != 1 {
			return nil
		}
		if data, err = appendNumbers(data, f, dtype); err == nil && len(data) > e.limit {
			err = faultf(ErrLimit, "a feature of more than %d bytes of numbers", e.limit)
		}
		return err
	})
	if err != nil {
		return err
	}
	e.enc.Tensor(dtype, []int64{int64(len(data) / dtype.Size())}, data)
	return nil
}

// appendNumbers appends the numbers in f, little-endian, to data.
func appendNumbers(data []byte, f protoField, dtype DType) ([]byte, error) {
	switch {
	case dtype == Int64 && f.typ == protowire.VarintType:
		return binary.LittleEndian.AppendUint64(data, f.value), nil
	case dtype == Int64 && f.typ == protowire.BytesType:
		for b := f.bytes; len(b) > 0; {
			v, n := protowire.ConsumeVarint(b)
			if n < 0 {
				return nil, badProto()
			}
			data, b = binary.LittleEndian.AppendUint64(data, v), b[n:]
		}
		return data, nil
	case dtype == Float32 && f.typ == protowire.Fixed32Type, dtype == Float32 && f.typ == protowire.BytesType && len(f.bytes)%4 == 0:
		return append(data, f.bytes...), nil
	}
	return nil, badProto()
}
