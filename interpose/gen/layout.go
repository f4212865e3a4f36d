package main

import (
	"fmt"
	"reflect"
	"strings"
	"unicode"

	"github.com/mpitrace/mpitrace/interpose/layout"
)

// structs lists the types of a recording. A type comes before the types that
// contain it.
var structs = []any{
	layout.Clock{}, layout.Open{}, layout.Header{}, layout.Segment{}, layout.Row{}, layout.Sample{}, layout.Record{},
	layout.String{}, layout.Thread{}, layout.Comm{}, layout.Name{}, layout.Edges{},
	layout.Slice{}, layout.Module{}, layout.Vector{}, layout.Stack{},
	layout.Setting{}, layout.Variable{}, layout.Pvar{}, layout.Handle{}, layout.Reading{}, layout.Group{},
	layout.Placement{}, layout.Usage{}, layout.EagerLimit{},
	layout.EventsHeader{}, layout.Chunk{}, layout.Event{},
	layout.ContainerHeader{}, layout.Extent{},
}

// constants lists the constants of the header. C names are made from these
// names.
var constants = []struct {
	name  string
	value any
}{
	{"Version", layout.Version}, {"ByteOrder", layout.ByteOrder}, {"HeaderSize", layout.HeaderSize},
	{"SegmentMagic", layout.SegmentMagic}, {"MaxTableRows", layout.MaxTableRows},
	{"MinTableRows", layout.MinTableRows}, {"MinLogSegment", layout.MinLogSegment},
	{"MaxString", layout.MaxString}, {"MaxMessages", layout.MaxMessages},
	{"ChecksumStart", uint64(layout.ChecksumStart)}, {"ChecksumFactor", uint64(layout.ChecksumFactor)},
	{"StateRunning", layout.StateRunning}, {"StateFinalized", layout.StateFinalized},
	{"ClockTSC", layout.ClockTSC}, {"ClockCNTVCT", layout.ClockCNTVCT}, {"ClockMonotonic", layout.ClockMonotonic},
	{"TimingExact", layout.TimingExact}, {"TimingSampled", layout.TimingSampled}, {"TimingOff", layout.TimingOff},
	{"EarlyCalls", layout.EarlyCalls},
	{"ReceivesFollowed", layout.ReceivesFollowed}, {"ReceivesUnfollowed", layout.ReceivesUnfollowed},
	{"SegmentFree", layout.SegmentFree}, {"SegmentLog", layout.SegmentLog}, {"SegmentTable", layout.SegmentTable},
	{"RecordString", layout.RecordString}, {"RecordThread", layout.RecordThread}, {"RecordComm", layout.RecordComm},
	{"RecordName", layout.RecordName}, {"RecordEdges", layout.RecordEdges}, {"RecordSlice", layout.RecordSlice},
	{"RecordModule", layout.RecordModule}, {"RecordVector", layout.RecordVector},
	{"RecordStack", layout.RecordStack}, {"RecordSetting", layout.RecordSetting},
	{"RecordVariable", layout.RecordVariable}, {"RecordPvar", layout.RecordPvar},
	{"Unloaded", uint64(layout.Unloaded)},
	{"RecordHandle", layout.RecordHandle}, {"RecordReading", layout.RecordReading}, {"RecordGroup", layout.RecordGroup},
	{"RecordPlacement", layout.RecordPlacement}, {"RecordUsage", layout.RecordUsage}, {"RecordEagerLimit", layout.RecordEagerLimit}, {"StackSite", uint64(layout.StackSite)},
	{"MaxStackDepth", layout.MaxStackDepth}, {"AutoStackDepth", layout.AutoStackDepth}, {"MaxStacks", layout.MaxStacks},
	{"StringHost", layout.StringHost}, {"StringJob", layout.StringJob}, {"StringCommand", layout.StringCommand},
	{"StringProgram", layout.StringProgram}, {"StringLibrary", layout.StringLibrary}, {"StringTool", layout.StringTool},
	{"StringIntercepted", layout.StringIntercepted}, {"StringAlone", layout.StringAlone}, {"StringDirect", layout.StringDirect},
	{"StringBoot", layout.StringBoot},
	{"DirNone", layout.DirNone}, {"DirSend", layout.DirSend}, {"DirRecv", layout.DirRecv},
	{"DirRecvPosted", layout.DirRecvPosted}, {"DirRead", layout.DirRead}, {"DirWrite", layout.DirWrite},
	{"DirSendPosted", layout.DirSendPosted}, {"DirReadPosted", layout.DirReadPosted},
	{"DirPosted", layout.DirPosted}, {"DirCancelled", layout.DirCancelled}, {"DirTruncated", layout.DirTruncated},
	{"DirFreed", layout.DirFreed}, {"DirFailed", layout.DirFailed}, {"DirUnfinished", layout.DirUnfinished},
	{"DirUntold", layout.DirUntold}, {"DirSendCancelled", layout.DirSendCancelled},
	{"DirSendFreed", layout.DirSendFreed}, {"DirSendFailed", layout.DirSendFailed},
	{"DirLate", layout.DirLate}, {"DirLeft", layout.DirLeft}, {"DirSendDoubtful", layout.DirSendDoubtful},
	{"PathSelf", layout.PathSelf}, {"PathNode", layout.PathNode}, {"PathNetwork", layout.PathNetwork},
	{"VariableEnvironment", layout.VariableEnvironment}, {"VariableAsked", layout.VariableAsked},
	{"ScopeUnknown", layout.ScopeUnknown}, {"ScopeConstant", layout.ScopeConstant},
	{"ScopeReadOnly", layout.ScopeReadOnly}, {"ScopeLocal", layout.ScopeLocal}, {"ScopeGroup", layout.ScopeGroup},
	{"ScopeGroupEq", layout.ScopeGroupEq}, {"ScopeAll", layout.ScopeAll}, {"ScopeAllEq", layout.ScopeAllEq},
	{"PvarState", layout.PvarState}, {"PvarLevel", layout.PvarLevel}, {"PvarSize", layout.PvarSize},
	{"PvarPercentage", layout.PvarPercentage}, {"PvarHighWatermark", layout.PvarHighWatermark},
	{"PvarLowWatermark", layout.PvarLowWatermark}, {"PvarCounter", layout.PvarCounter},
	{"PvarAggregate", layout.PvarAggregate}, {"PvarTimer", layout.PvarTimer}, {"PvarGeneric", layout.PvarGeneric},
	{"PvarSigned", layout.PvarSigned}, {"PvarUnsigned", layout.PvarUnsigned}, {"PvarDouble", layout.PvarDouble},
	{"PvarText", layout.PvarText}, {"PvarUnbound", layout.PvarUnbound},
	{"PvarCommunicator", layout.PvarCommunicator}, {"PvarWindow", layout.PvarWindow},
	{"PvarReadOnly", layout.PvarReadOnly}, {"PvarContinuous", layout.PvarContinuous}, {"PvarAtomic", layout.PvarAtomic},
	{"ReadAtInit", layout.ReadAtInit}, {"ReadAtSlice", layout.ReadAtSlice}, {"ReadAtInterval", layout.ReadAtInterval},
	{"ReadAtFinalize", layout.ReadAtFinalize}, {"ReadAtFree", layout.ReadAtFree}, {"ReadAtBind", layout.ReadAtBind},
	{"PeerNone", layout.PeerNone}, {"PeerProcNull", layout.PeerProcNull}, {"PeerAnySource", layout.PeerAnySource},
	{"PeerRoot", layout.PeerRoot}, {"PeerLost", layout.PeerLost}, {"PeerElsewhere", layout.PeerElsewhere},
	{"CommNone", uint32(layout.CommNone)}, {"OpenBytesUnknown", uint64(layout.OpenBytesUnknown)},
	{"CommInter", layout.CommInter}, {"CommFreed", layout.CommFreed}, {"CommFound", layout.CommFound},
	{"CommList", layout.CommList}, {"CommRemote", layout.CommRemote}, {"ThreadMain", layout.ThreadMain},
	{"ThreadUseUnknown", layout.ThreadUseUnknown},
	{"ContainerVersion", layout.ContainerVersion}, {"Granule", layout.Granule}, {"ExtentMagic", layout.ExtentMagic},
	{"ExtentSize", layout.ExtentSize}, {"ContainerSealed", uint64(layout.ContainerSealed)}, {"MaxHost", layout.MaxHost},
	{"ExtentRecording", layout.ExtentRecording}, {"ExtentEvents", layout.ExtentEvents},
	{"EventsVersion", layout.EventsVersion}, {"EventsHeaderSize", layout.EventsHeaderSize},
	{"ChunkMagic", layout.ChunkMagic}, {"ChunkSize", layout.ChunkSize}, {"ChunkEvents", layout.ChunkEvents},
	{"CutSlices", layout.CutSlices}, {"CutClasses", layout.CutClasses}, {"CutLimit", layout.CutLimit},
	{"CutRing", layout.CutRing}, {"CutNoRoom", layout.CutNoRoom},
	{"EventCompleted", layout.EventCompleted}, {"EventNoTag", layout.EventNoTag},
	{"WindowDetails", layout.WindowDetails}, {"MaxWindows", layout.MaxWindows},
	{"LockShared", layout.LockShared}, {"LockExclusive", layout.LockExclusive},
}

// layoutData is the data for the template of layout_gen.h.
type layoutData struct {
	Constants []constantData
	Structs   []structData
}

type constantData struct{ Name, Value string }

type structData struct {
	Name, GoName string
	Size         uintptr
	Fields       []fieldData
}

type fieldData struct {
	Type, Name, Suffix, GoName string
	Offset                     uintptr
}

func newLayoutData() (layoutData, error) {
	var d layoutData
	for _, c := range constants {
		d.Constants = append(d.Constants, constantData{shout(snake(c.name)), cValue(c.value)})
	}
	for _, s := range structs {
		out, err := newStructData(reflect.TypeOf(s))
		if err != nil {
			return d, err
		}
		d.Structs = append(d.Structs, out)
	}
	return d, nil
}

func newStructData(t reflect.Type) (structData, error) {
	s := structData{Name: structName(t), GoName: t.Name(), Size: t.Size()}
	for i := range t.NumField() {
		f := t.Field(i)
		ctype, suffix, err := cType(f.Type)
		if err != nil {
			return s, fmt.Errorf("%s.%s: %w", t.Name(), f.Name, err)
		}
		s.Fields = append(s.Fields, fieldData{ctype, snake(f.Name), suffix, f.Name, f.Offset})
	}
	return s, nil
}

func structName(t reflect.Type) string { return "mt_l_" + strings.ToLower(t.Name()) }

func cValue(v any) string {
	switch u := v.(type) {
	case uint32:
		return fmt.Sprintf("0x%xu", u)
	case uint64:
		return fmt.Sprintf("0x%xull", u)
	}
	if n := reflect.ValueOf(v).Int(); n < 0 {
		return fmt.Sprintf("(%d)", n)
	}
	return fmt.Sprint(v)
}

func cType(t reflect.Type) (ctype, suffix string, err error) {
	switch t.Kind() {
	case reflect.Float64:
		return "double", "", nil
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Int32:
		return t.Kind().String() + "_t", "", nil
	case reflect.Array:
		ctype, suffix, err = cType(t.Elem())
		return ctype, fmt.Sprintf("[%d]", t.Len()) + suffix, err
	case reflect.Struct:
		return structName(t), "", nil
	}
	return "", "", fmt.Errorf("type %s has no fixed width", t)
}

// snake converts BuildIDLength to build_id_length.
func snake(name string) string {
	var b strings.Builder
	runes := []rune(name)
	for i, r := range runes {
		if i > 0 && unicode.IsUpper(r) &&
			(!unicode.IsUpper(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1])) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}
