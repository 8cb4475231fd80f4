package convert

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/schema"
)

// columns implements described: the columns of the schema, and their types with the units that
// records cannot represent.
func (d *parquetDecoder) columns() []Column {
	columns := make([]Column, len(d.root.children))
	for i, child := range d.root.children {
		columns[i] = Column{Name: child.name, Type: child.typeText()}
	}
	for _, p := range d.parts {
		columns = append(columns, Column{Name: p.name, Type: TypeText.String()})
	}
	return columns
}

// typeText names the type of n as in the manifest, such as "list<struct<t timestamp[us,UTC], v
// float>>".
func (n *parquetNode) typeText() string {
	switch n.kind {
	case parquetList:
		text := "list<" + n.children[0].typeText() + ">"
		if n.length > 0 {
			text += "[" + strconv.Itoa(n.length) + "]"
		}
		return text
	case parquetMap:
		return "map<" + n.children[1].typeText() + ">"
	case parquetStruct:
		fields := make([]string, len(n.children))
		for i, child := range n.children {
			fields[i] = fieldText(child.name, child.typeText())
		}
		return "struct<" + strings.Join(fields, ", ") + ">"
	}
	return n.leaf.typ
}

// parquetType names the type of a column's values: the type of text tables if there is one, else
// the logical type. Integers of all widths are int.
func parquetType(n *schema.PrimitiveNode) string {
	switch t := n.LogicalType().(type) {
	case schema.NullLogicalType:
		return nullType
	case schema.DecimalLogicalType:
		return fmt.Sprintf("%s(%d,%d)", decimalType, t.Precision(), t.Scale())
	case schema.DateLogicalType:
		return "date"
	case schema.TimeLogicalType:
		return "time[" + unitText(t.TimeUnit()) + "]"
	case schema.TimestampLogicalType:
		if t.IsAdjustedToUTC() {
			return "timestamp[" + unitText(t.TimeUnit()) + ",UTC]"
		}
		return "timestamp[" + unitText(t.TimeUnit()) + "]"
	case schema.Float16LogicalType:
		return "float16"
	}
	switch n.PhysicalType() {
	case parquet.Types.Boolean:
		return TypeBool.String()
	case parquet.Types.Int32, parquet.Types.Int64:
		return TypeInt.String()
	case parquet.Types.Int96:
		return "timestamp[ns]"
	case parquet.Types.Float:
		return TypeFloat32.String()
	case parquet.Types.Double:
		return TypeFloat.String()
	}
	if isParquetText(n) {
		return TypeText.String()
	}
	return TypeBytes.String()
}

func unitText(u schema.TimeUnitType) string {
	switch u {
	case schema.TimeUnitMillis:
		return "ms"
	case schema.TimeUnitMicros:
		return "us"
	case schema.TimeUnitNanos:
		return "ns"
	}
	return "?"
}
