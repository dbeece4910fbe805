package featurestore

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/twmb/murmur3"
	"google.golang.org/protobuf/encoding/protowire"

	"rivulet/event"
	"rivulet/event/fields"
	"rivulet/mapping"
	"rivulet/schema"
)

// Types of Feast's join keys, as its ValueType.Enum numbers them.
var joinTypes = map[string]uint32{"string": 2, "int32": 3, "int64": 4}

// FeastOptions describe features that Feast's online store has in Redis.
type FeastOptions struct {
	Client  mapping.Client // the caller's to close
	Project string
	// JoinKey is the entity's join key, whose value is an arrival's id, and JoinType its type: string, int32 or int64.
	JoinKey, JoinType string
	// Features are the features to read, as "view:feature".
	Features []string
	// Row says that the only feature is a list, the row by position; else features have their names, without the view's.
	Row     bool
	Timeout time.Duration // of one request, its repetitions included
}

// Feast reads features by id from the hashes that Feast writes. It may be used by many goroutines at once.
type Feast struct {
	o        FeastOptions
	fields   []string // of a hash, one a feature
	names    []string // of the features
	joinKey  []byte   // the beginning of each key
	joinType uint32
}

// NewFeast returns a store. It opens no connection.
func NewFeast(o FeastOptions) (*Feast, error) {
	f := &Feast{o: o}
	var known bool
	switch f.joinType, known = joinTypes[o.JoinType]; {
	case o.Client == nil || o.Timeout <= 0:
		return nil, errors.New("featurestore: a store needs a client and a time above 0")
	case o.Project == "" || o.JoinKey == "" || len(o.Features) == 0:
		return nil, errors.New("features of Feast need a project, a join key and the names of features")
	case !known:
		return nil, fmt.Errorf("the type of the join key is %q, want string, int32 or int64", o.JoinType)
	case o.Row && len(o.Features) != 1:
		return nil, fmt.Errorf("a row by position is one feature of Feast, and %d are named", len(o.Features))
	}
	for _, name := range o.Features {
		view, feature, ok := strings.Cut(name, ":")
		if !ok || view == "" || feature == "" {
			return nil, fmt.Errorf("a feature of Feast is %q, want view:feature", name)
		}
		f.names = append(f.names, feature)
		f.fields = append(f.fields, string(binary.LittleEndian.AppendUint32(nil, murmur3.StringSum32(name))))
	}
	f.joinKey = binary.LittleEndian.AppendUint32(f.joinKey, 1) // join keys
	f.joinKey = binary.LittleEndian.AppendUint32(f.joinKey, joinTypes["string"])
	f.joinKey = binary.LittleEndian.AppendUint32(f.joinKey, uint32(len(o.JoinKey)))
	f.joinKey = append(f.joinKey, o.JoinKey...)
	return f, nil
}

// key returns the key of an id: Feast's entity key in its serialization 3, then the project. It returns "" for an id
// that is no value of the join key.
func (f *Feast) key(id string) string {
	value := []byte(id)
	if bits := map[string]int{"int32": 32, "int64": 64}[f.o.JoinType]; bits > 0 {
		n, err := strconv.ParseInt(id, 10, bits)
		if err != nil {
			return ""
		}
		value = binary.LittleEndian.AppendUint64(nil, uint64(n))[:bits/8]
	}
	key := append([]byte(nil), f.joinKey...)
	key = binary.LittleEndian.AppendUint32(key, f.joinType)
	key = binary.LittleEndian.AppendUint32(key, uint32(len(value)))
	return string(append(append(key, value...), f.o.Project...))
}

// Read sets into[i] to the features of ids[i], or faults[i] to why it has none. An error says that the store could not
// be asked.
func (f *Feast) Read(ctx context.Context, ids []string, into []*event.Features, faults []*event.FieldError) error {
	return inPortions(f.o.Client, ids, func(from, to int) error {
		return f.portion(ctx, ids[from:to], into[from:to], faults[from:to])
	})
}

func (f *Feast) portion(ctx context.Context, ids []string, into []*event.Features, faults []*event.FieldError) error {
	ctx, cancel := context.WithTimeout(ctx, f.o.Timeout)
	defer cancel()
	pipe := f.o.Client.Pipeline()
	answers := make([]*redis.SliceCmd, len(ids))
	for i, id := range ids {
		if key := f.key(id); key != "" {
			answers[i] = pipe.HMGet(ctx, key, f.fields...)
		}
	}
	if _, err := pipe.Exec(ctx); err != nil && !otherType(err) {
		return err
	}
	for i, answer := range answers {
		if answer == nil {
			faults[i] = &event.FieldError{Reason: event.ReasonFeaturesAbsent, Field: "features",
				Detail: fmt.Sprintf("the record brings none, and its id is no %s, as Feast's join key %s is", f.o.JoinType,
					f.o.JoinKey)}
			continue
		}
		values, err := answer.Result()
		if err != nil && !otherType(err) {
			return err
		}
		faults[i] = f.decode(ids[i], values, err, into[i])
	}
	return nil
}

// decode reads the values of one id, or names their fault.
func (f *Feast) decode(id string, values []any, err error, into *event.Features) *event.FieldError {
	list, found := fields.TakeNamed(into), 0
	for k := 0; err == nil && k < len(values); k++ {
		field := list.AddText(f.names[k])
		field.Value.Type = schema.Missing
		if text, ok := values[k].(string); ok {
			found++
			if err = readValue(&field.Value, []byte(text)); err != nil {
				err = fmt.Errorf("%s: %w", f.o.Features[k], err)
			}
		}
	}
	if err == nil && found == 0 {
		return &event.FieldError{Reason: event.ReasonFeaturesAbsent, Field: "features",
			Detail: fmt.Sprintf("the record brings none, and Feast's project %s has none of %s for %s %s, a %s", f.o.Project,
				short(strings.Join(f.o.Features, ", ")), f.o.JoinKey, short(id), f.o.JoinType)}
	}
	if err == nil {
		err = fields.CheckNamedFinite(list.Fields)
	}
	if err == nil && f.o.Row && list.Fields[0].Value.Type != schema.Vector {
		err = fmt.Errorf("%s is a %s, want a list of numbers: the row", f.o.Features[0], list.Fields[0].Value.Type)
	}
	var fault *event.FieldError
	switch {
	case errors.As(err, &fault):
		return fault
	case err != nil:
		return &event.FieldError{Reason: event.ReasonFeaturesStored, Field: "features", Detail: err.Error()}
	case f.o.Row:
		*into = event.Features{Indices: into.Indices[:0], Values: append(into.Values[:0], list.Fields[0].Value.Vector...)}
	default:
		fields.SetNamed(into, list.Fields)
		into.Absent = false
	}
	return nil
}

// Numbers of the fields of Feast's Value. Lists are messages with their elements in field 1.
const (
	feastText                                       = 2
	feastInt32, feastInt64, feastDouble, feastFloat = 3, 4, 5, 6
	feastBool, feastTime                            = 7, 8
	feastInts32, feastInts64                        = 13, 14
	feastDoubles, feastFloats, feastBools           = 15, 16, 17
	feastNull                                       = 19
)

var errDamaged = errors.New("it is no value of Feast")

// readValue reads a value in the form of Feast's message Value. A type that is no feature becomes [schema.Other].
func readValue(v *schema.Value, data []byte) error {
	for len(data) > 0 {
		num, typ, n := protowire.ConsumeTag(data)
		if n < 0 {
			return errDamaged
		}
		m := protowire.ConsumeFieldValue(num, typ, data[n:])
		if m < 0 {
			return errDamaged
		}
		content := data[n : n+m]
		data = data[n+m:]
		switch num {
		case feastText:
			text, _ := protowire.ConsumeBytes(content)
			v.Type, v.Text = schema.Text, string(text)
		case feastInt32, feastInt64, feastDouble, feastFloat, feastBool:
			number, _, ok := scalar(num, typ, content)
			if v.Type, v.Number = schema.Number, number; num == feastBool {
				v.Type = schema.Bool
			}
			if !ok {
				return errDamaged
			}
		case feastTime:
			seconds, _ := protowire.ConsumeVarint(content)
			v.Type, v.Time = schema.Time, time.Unix(int64(seconds), 0).UTC()
		case feastInts32, feastInts64, feastDoubles, feastFloats, feastBools:
			list, _ := protowire.ConsumeBytes(content)
			v.Type, v.Vector = schema.Vector, v.Vector[:0]
			return readList(v, num-(feastInts32-feastInt32), list)
		case feastNull:
			v.Type = schema.Missing
		default:
			v.Type, v.Text = schema.Other, fmt.Sprintf("a value of Feast of type %d", num)
		}
	}
	return nil
}

// scalar reads a number as the field num of Value has it, and returns how many bytes it took.
func scalar(num protowire.Number, typ protowire.Type, data []byte) (x float64, n int, ok bool) {
	switch num {
	case feastDouble:
		bits, n := protowire.ConsumeFixed64(data)
		return math.Float64frombits(bits), n, typ == protowire.Fixed64Type && n > 0
	case feastFloat:
		bits, n := protowire.ConsumeFixed32(data)
		return float64(math.Float32frombits(bits)), n, typ == protowire.Fixed32Type && n > 0
	}
	bits, n := protowire.ConsumeVarint(data)
	return float64(int64(bits)), n, typ == protowire.VarintType && n > 0
}

// readList reads the elements of a list, packed or one by one, each as the field num of Value has it.
func readList(v *schema.Value, num protowire.Number, list []byte) error {
	wire := map[protowire.Number]protowire.Type{feastDouble: protowire.Fixed64Type, feastFloat: protowire.Fixed32Type}[num]
	for len(list) > 0 {
		field, typ, n := protowire.ConsumeTag(list)
		if n < 0 || field != 1 {
			return errDamaged
		}
		m := protowire.ConsumeFieldValue(field, typ, list[n:])
		if m < 0 {
			return errDamaged
		}
		elements := list[n : n+m]
		list = list[n+m:]
		if typ == protowire.BytesType {
			elements, _ = protowire.ConsumeBytes(elements)
			typ = wire
		}
		for len(elements) > 0 {
			x, n, ok := scalar(num, typ, elements)
			if !ok {
				return errDamaged
			}
			v.Vector, elements = append(v.Vector, float32(x)), elements[n:]
		}
	}
	return nil
}
