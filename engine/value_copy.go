package engine

import (
	"fmt"
	"reflect"
)

// cloneValue returns v with a copy of its own of everything that could be written to: lists, maps, and slices, arrays and
// maps of other Go types, at any depth. What stands for no JSON value (pointers, structs, functions) is shared.
//
// It panics with a *ValueError for a value that nests deeper than 128, contains itself or holds more than 4,194,304
// values. It is called only inside predicates, where a panic makes the predicate fail: any value handed out
// instead would be one that a deny rule can take for harmless.
//
// Cost: one pass over v. It allocates nothing where v is no list or map.
func cloneValue(v any) any {
	left := maxCopied
	c, err := copyValue(v, maxDepth, &left)
	if err != nil {
		panic(err)
	}
	return c
}

func copyValue(v any, depth int, left *int) (any, error) {
	if *left--; *left < 0 {
		return nil, &ValueError{Type: fmt.Sprintf("%T", v), Err: ErrTooLarge}
	}
	switch v := v.(type) {
	case []any:
		if v == nil {
			return v, nil
		}
		if depth == 0 {
			return nil, &ValueError{Type: fmt.Sprintf("%T", v), Err: ErrTooDeep}
		}
		c := make([]any, len(v))
		for i := range v {
			part, err := copyValue(v[i], depth-1, left)
			if err != nil {
				return nil, err
			}
			c[i] = part
		}
		return c, nil
	case map[string]any:
		if v == nil {
			return v, nil
		}
		if depth == 0 {
			return nil, &ValueError{Type: fmt.Sprintf("%T", v), Err: ErrTooDeep}
		}
		c := make(map[string]any, len(v))
		for k := range v {
			part, err := copyValue(v[k], depth-1, left)
			if err != nil {
				return nil, err
			}
			c[k] = part
		}
		return c, nil
	}
	r := reflect.ValueOf(v)
	switch r.Kind() {
	case reflect.Slice, reflect.Array, reflect.Map:
		c, err := copyReflected(r, depth, left)
		if err != nil {
			return nil, err
		}
		return c.Interface(), nil
	}
	return v, nil
}

// copyReflected is copyValue for slices, arrays and maps of other Go types.
func copyReflected(r reflect.Value, depth int, left *int) (reflect.Value, error) {
	switch r.Kind() {
	case reflect.Slice, reflect.Map:
		if r.IsNil() {
			return r, nil
		}
	case reflect.Array:
	case reflect.Interface:
		if r.IsNil() {
			return r, nil
		}
		c, err := copyValue(r.Interface(), depth, left)
		if err != nil {
			return reflect.Value{}, err
		}
		return reflect.ValueOf(c), nil
	default:
		return r, nil
	}
	if depth == 0 {
		return reflect.Value{}, &ValueError{Type: r.Type().String(), Err: ErrTooDeep}
	}
	if *left -= r.Len(); *left < 0 {
		return reflect.Value{}, &ValueError{Type: r.Type().String(), Err: ErrTooLarge}
	}
	if r.Kind() == reflect.Map {
		c := reflect.MakeMapWithSize(r.Type(), r.Len())
		for it := r.MapRange(); it.Next(); {
			part, err := copyReflected(it.Value(), depth-1, left)
			if err != nil {
				return reflect.Value{}, err
			}
			c.SetMapIndex(it.Key(), part)
		}
		return c, nil
	}
	c := reflect.New(r.Type()).Elem()
	if r.Kind() == reflect.Slice {
		c = reflect.MakeSlice(r.Type(), r.Len(), r.Len())
	}
	for i := range r.Len() {
		part, err := copyReflected(r.Index(i), depth-1, left)
		if err != nil {
			return reflect.Value{}, err
		}
		c.Index(i).Set(part)
	}
	return c, nil
}
