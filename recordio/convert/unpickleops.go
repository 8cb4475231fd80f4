package convert

// The pickle opcodes that are only read, by their names in pickletools.
const (
	opPop             = '0'
	opPopMark         = '1'
	opDup             = '2'
	opFloat           = 'F'
	opInt             = 'I'
	opLong            = 'L'
	opPersID          = 'P'
	opBinPersID       = 'Q'
	opString          = 'S'
	opBinString       = 'T'
	opUnicode         = 'V'
	opAppend          = 'a'
	opDict            = 'd'
	opGet             = 'g'
	opBinGet          = 'h'
	opInst            = 'i'
	opLongBinGet      = 'j'
	opList            = 'l'
	opObj             = 'o'
	opPut             = 'p'
	opBinPut          = 'q'
	opLongBinPut      = 'r'
	opSetItem         = 's'
	opBinBytes        = 'B'
	opShortBinBytes   = 'C'
	opNewObj          = 0x81
	opExt1            = 0x82
	opExt2            = 0x83
	opExt4            = 0x84
	opShortBinUnicode = 0x8c
	opBinUnicode8     = 0x8d
	opBinBytes8       = 0x8e
	opEmptySet        = 0x8f
	opAddItems        = 0x90
	opFrozenSet       = 0x91
	opNewObjEx        = 0x92
	opStackGlobal     = 0x93
	opMemoize         = 0x94
	opFrame           = 0x95
	opByteArray8      = 0x96
	opNextBuffer      = 0x97
	opReadonlyBuffer  = 0x98
)

// argument is the encoding of an opcode's argument.
type argument uint8

const (
	argNone   argument = iota
	argU1              // a number of 1, 2, 4 or 8 bytes, little-endian
	argU2              //
	argU4              //
	argU8              //
	argI4              // a signed number of 4 bytes
	argF8              // a float64, big-endian
	argLine            // text up to the end of the line
	argDigits          // a decimal number without sign, up to the end of the line
	argLines           // two lines
	argBytes1          // bytes preceded by their number, which has 1, 4 or 8 bytes
	argBytes4          //
	argBytesI          // the same with a signed number of 4 bytes
	argBytes8          //
)

// opcode describes an opcode; its name is empty if it does not exist.
type opcode struct {
	name string
	arg  argument
}

var opcodes = [256]opcode{
	opMark:            {"MARK", argNone},
	opStop:            {"STOP", argNone},
	opPop:             {"POP", argNone},
	opPopMark:         {"POP_MARK", argNone},
	opDup:             {"DUP", argNone},
	opFloat:           {"FLOAT", argLine},
	opInt:             {"INT", argLine},
	opBinInt:          {"BININT", argI4},
	opBinInt1:         {"BININT1", argU1},
	opLong:            {"LONG", argLine},
	opBinInt2:         {"BININT2", argU2},
	opNone:            {"NONE", argNone},
	opPersID:          {"PERSID", argLine},
	opBinPersID:       {"BINPERSID", argNone},
	opReduce:          {"REDUCE", argNone},
	opString:          {"STRING", argLine},
	opBinString:       {"BINSTRING", argBytesI},
	opShortBinString:  {"SHORT_BINSTRING", argBytes1},
	opUnicode:         {"UNICODE", argLine},
	opBinUnicode:      {"BINUNICODE", argBytes4},
	opAppend:          {"APPEND", argNone},
	opBuild:           {"BUILD", argNone},
	opGlobal:          {"GLOBAL", argLines},
	opDict:            {"DICT", argNone},
	opEmptyDict:       {"EMPTY_DICT", argNone},
	opAppends:         {"APPENDS", argNone},
	opGet:             {"GET", argDigits},
	opBinGet:          {"BINGET", argU1},
	opInst:            {"INST", argLines},
	opLongBinGet:      {"LONG_BINGET", argU4},
	opList:            {"LIST", argNone},
	opEmptyList:       {"EMPTY_LIST", argNone},
	opObj:             {"OBJ", argNone},
	opPut:             {"PUT", argDigits},
	opBinPut:          {"BINPUT", argU1},
	opLongBinPut:      {"LONG_BINPUT", argU4},
	opSetItem:         {"SETITEM", argNone},
	opTuple:           {"TUPLE", argNone},
	opEmptyTuple:      {"EMPTY_TUPLE", argNone},
	opSetItems:        {"SETITEMS", argNone},
	opBinFloat:        {"BINFLOAT", argF8},
	opProto:           {"PROTO", argU1},
	opNewObj:          {"NEWOBJ", argNone},
	opExt1:            {"EXT1", argU1},
	opExt2:            {"EXT2", argU2},
	opExt4:            {"EXT4", argI4},
	opTuple1:          {"TUPLE1", argNone},
	opTuple2:          {"TUPLE2", argNone},
	opTuple3:          {"TUPLE3", argNone},
	opNewTrue:         {"NEWTRUE", argNone},
	opNewFalse:        {"NEWFALSE", argNone},
	opLong1:           {"LONG1", argBytes1},
	opLong4:           {"LONG4", argBytesI},
	opBinBytes:        {"BINBYTES", argBytes4},
	opShortBinBytes:   {"SHORT_BINBYTES", argBytes1},
	opShortBinUnicode: {"SHORT_BINUNICODE", argBytes1},
	opBinUnicode8:     {"BINUNICODE8", argBytes8},
	opBinBytes8:       {"BINBYTES8", argBytes8},
	opEmptySet:        {"EMPTY_SET", argNone},
	opAddItems:        {"ADDITEMS", argNone},
	opFrozenSet:       {"FROZENSET", argNone},
	opNewObjEx:        {"NEWOBJ_EX", argNone},
	opStackGlobal:     {"STACK_GLOBAL", argNone},
	opMemoize:         {"MEMOIZE", argNone},
	opFrame:           {"FRAME", argU8},
	opByteArray8:      {"BYTEARRAY8", argBytes8},
	opNextBuffer:      {"NEXT_BUFFER", argNone},
	opReadonlyBuffer:  {"READONLY_BUFFER", argNone},
}
