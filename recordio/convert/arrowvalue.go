package convert

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// arrowType names a type as in the manifest.
func arrowType(t arrow.DataType) (string, error) {
	switch t := t.(type) {
	case *arrow.NullType:
		return nullType, nil
	case *arrow.BooleanType:
		return TypeBool.String(), nil
	case *arrow.Float16Type:
		return "float16", nil
	case *arrow.Float32Type:
		return TypeFloat32.String(), nil
	case *arrow.Float64Type:
		return TypeFloat.String(), nil
	case *arrow.StringType, *arrow.LargeStringType, *arrow.StringViewType:
		return TypeText.String(), nil
	case *arrow.BinaryType, *arrow.LargeBinaryType, *arrow.BinaryViewType, *arrow.FixedSizeBinaryType:
		return TypeBytes.String(), nil
	case *arrow.Date32Type, *arrow.Date64Type:
		return "date", nil
	case *arrow.Time32Type:
		return "time[" + t.Unit.String() + "]", nil
	case *arrow.Time64Type:
		return "time[" + t.Unit.String() + "]", nil
	case *arrow.DurationType:
		return "duration[" + t.Unit.String() + "]", nil
	case *arrow.TimestampType:
		if t.TimeZone == "" {
			return "timestamp[" + t.Unit.String() + "]", nil
		}
		return "timestamp[" + t.Unit.String() + "," + t.TimeZone + "]", nil
	case arrow.DecimalType:
		return fmt.Sprintf("%s(%d,%d)", decimalType, t.GetPrecision(), t.GetScale()), nil
	case *arrow.DictionaryType:
		return arrowType(t.ValueType)
	case arrow.ExtensionType:
		return arrowType(t.StorageType())
	case *arrow.StructType:
		fields, names := make([]string, t.NumFields()), make([]string, t.NumFields())
		for i, f := range t.Fields() {
			typ, err := arrowType(f.Type)
			if err != nil {
				return "", err
			}
			fields[i], names[i] = fieldText(f.Name, typ), f.Name
		}
		return "struct<" + strings.Join(fields, ", ") + ">", unlike(ErrUnsupported, "a struct has", names)
	case *arrow.MapType:
		value, err := arrowType(t.ItemType())
		if err == nil && isArrowText(t.KeyType()) {
			return "map<" + value + ">", nil
		}
		key, errKey := arrowType(t.KeyType())
		if err == nil {
			err = errKey
		}
		return "list<struct<key " + key + ", value " + value + ">>", err
	case arrow.ListLikeType:
		typ, err := arrowType(t.Elem())
		typ = "list<" + typ + ">"
		if fixed, ok := t.(*arrow.FixedSizeListType); ok {
			typ += fmt.Sprintf("[%d]", fixed.Len())
		}
		return typ, err
	}
	if arrow.IsInteger(t.ID()) {
		return TypeInt.String(), nil
	}
	return "", faultf(ErrUnsupported, "values of Arrow's type %s", t)
}

func isArrowText(t arrow.DataType) bool {
	return t.ID() == arrow.STRING || t.ID() == arrow.LARGE_STRING || t.ID() == arrow.STRING_VIEW
}

// giveArrow encodes value i of a. After an error it encodes the rest, so that the order of calls is
// right.
func giveArrow(enc Encoder, a arrow.Array, i int) error {
	if a.IsNull(i) {
		enc.Nil()
		return nil
	}
	switch a := a.(type) {
	case *array.Null:
		enc.Nil()
	case *array.Boolean:
		enc.Bool(a.Value(i))
	case *array.Int8:
		enc.Int(int64(a.Value(i)))
	case *array.Int16:
		enc.Int(int64(a.Value(i)))
	case *array.Int32:
		enc.Int(int64(a.Value(i)))
	case *array.Int64:
		enc.Int(a.Value(i))
	case *array.Uint8:
		enc.Uint(uint64(a.Value(i)))
	case *array.Uint16:
		enc.Uint(uint64(a.Value(i)))
	case *array.Uint32:
		enc.Uint(uint64(a.Value(i)))
	case *array.Uint64:
		enc.Uint(a.Value(i))
	case *array.Float16:
		enc.Float32(a.Value(i).Float32())
	case *array.Float32:
		enc.Float32(a.Value(i))
	case *array.Float64:
		enc.Float64(a.Value(i))
	case array.StringLike:
		return giveArrowText(enc, a.Value(i))
	case interface{ Value(int) []byte }: // bytes of any length
		enc.Bytes(a.Value(i))
	case *array.Date32:
		enc.Int(int64(a.Value(i)))
	case *array.Date64:
		const day = int64(24 * time.Hour / time.Millisecond)
		enc.Int(int64(a.Value(i)) / day)
		if int64(a.Value(i))%day != 0 {
			return faultf(ErrUnsupported, "a date of %d ms, which are not whole days", a.Value(i))
		}
	case *array.Time32:
		enc.Int(int64(a.Value(i)))
	case *array.Time64:
		enc.Int(int64(a.Value(i)))
	case *array.Duration:
		enc.Int(int64(a.Value(i)))
	case *array.Timestamp:
		enc.Int(int64(a.Value(i)))
	case *array.Dictionary:
		return giveArrow(enc, a.Dictionary(), a.GetValueIndex(i))
	case array.ExtensionArray:
		return giveArrow(enc, a.Storage(), i)
	case *array.Struct:
		return giveArrowFields(enc, a.DataType().(*arrow.StructType), a, i)
	case *array.Map:
		return giveArrowMap(enc, a, i)
	case array.ListLike:
		from, to := a.ValueOffsets(i)
		return giveArrowItems(enc, int(to-from), func(k int) error { return giveArrow(enc, a.ListValues(), int(from)+k) })
	case *array.Decimal32:
		giveArrowDecimal(enc, a.Value(i), a)
	case *array.Decimal64:
		giveArrowDecimal(enc, a.Value(i), a)
	case *array.Decimal128:
		giveArrowDecimal(enc, a.Value(i), a)
	case *array.Decimal256:
		giveArrowDecimal(enc, a.Value(i), a)
	default:
		return faultf(ErrUnsupported, "values of Arrow's type %s", a.DataType())
	}
	return nil
}

// giveArrowDecimal encodes a decimal with all digits of its scale.
func giveArrowDecimal(enc Encoder, v interface{ ToString(int32) string }, a arrow.Array) {
	enc.String([]byte(v.ToString(a.DataType().(arrow.DecimalType).GetScale())))
}

func giveArrowText(enc Encoder, text string) error {
	if !utf8.ValidString(text) {
		enc.Nil()
		return faultf(ErrSyntax, "a text that is not UTF-8: %.40q", text)
	}
	enc.String([]byte(text))
	return nil
}

func giveArrowFields(enc Encoder, t *arrow.StructType, a *array.Struct, i int) (first error) {
	enc.Map(t.NumFields())
	for k, f := range t.Fields() {
		enc.Key(f.Name)
		if err := giveArrow(enc, a.Field(k), i); err != nil && first == nil {
			first = err
		}
	}
	enc.End()
	return first
}

// giveArrowItems encodes a list of n items. It stops at an error of enc, since a damaged length may
// be any.
func giveArrowItems(enc Encoder, n int, give func(k int) error) (first error) {
	enc.Array(n)
	for k := range n {
		if err := give(k); err != nil && first == nil {
			first = err
		}
		if enc.Err() != nil {
			return first
		}
	}
	enc.End()
	return first
}

// giveArrowMap encodes a map with text as keys as a map, and others as a list of pairs.
func giveArrowMap(enc Encoder, a *array.Map, i int) (first error) {
	from, to := a.ValueOffsets(i)
	if !isArrowText(a.Keys().DataType()) {
		return giveArrowItems(enc, int(to-from), func(k int) error {
			enc.Map(2)
			enc.Key("key")
			err := giveArrow(enc, a.Keys(), int(from)+k)
			enc.Key("value")
			if errValue := giveArrow(enc, a.Items(), int(from)+k); err == nil {
				err = errValue
			}
			enc.End()
			return err
		})
	}
	seen := map[string]bool{}
	enc.Map(int(to - from))
	for k := int(from); k < int(to); k++ {
		key := a.Keys().(array.StringLike).Value(k)
		if first == nil && (seen[key] || !utf8.ValidString(key)) {
			first = faultf(ErrSyntax, "the key %.40q of a map occurs twice, or is not UTF-8", key)
		}
		seen[key] = true
		enc.Key(key)
		if err := giveArrow(enc, a.Items(), k); err != nil && first == nil {
			first = err
		}
		if enc.Err() != nil {
			return first
		}
	}
	enc.End()
	return first
}
