package chart

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// Values are values of a chart, as a spec has them: maps, lists, text, truth, whole numbers (int) and other numbers (float64). Templates
// print the two kinds of numbers differently, so they keep their kind in JSON: only those of float64 have an exponent.
type Values map[string]any

// MarshalJSON implements json.Marshaler.
func (v Values) MarshalJSON() ([]byte, error) { return json.Marshal(markNumbers(map[string]any(v))) }

func markNumbers(value any) any {
	switch value := value.(type) {
	case map[string]any:
		result := make(map[string]any, len(value))
		for key, child := range value {
			result[key] = markNumbers(child)
		}
		return result
	case []any:
		result := make([]any, len(value))
		for i, child := range value {
			result[i] = markNumbers(child)
		}
		return result
	case float64:
		return json.Number(strconv.FormatFloat(value, 'e', -1, 64))
	}
	return value
}

// UnmarshalJSON implements json.Unmarshaler.
func (v *Values) UnmarshalJSON(data []byte) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var content map[string]any
	if err := decoder.Decode(&content); err != nil {
		return fmt.Errorf("read values: %w", err)
	}
	*v = content
	return unmarkMap(content)
}

// unmarkMap gives the numbers in a map their kind.
func unmarkMap(content map[string]any) error {
	for key, child := range content {
		value, err := unmarkNumbers(child)
		if err != nil {
			return err
		}
		content[key] = value
	}
	return nil
}

func unmarkNumbers(value any) (any, error) {
	switch value := value.(type) {
	case map[string]any:
		return value, unmarkMap(value)
	case []any:
		for i, child := range value {
			var err error
			if value[i], err = unmarkNumbers(child); err != nil {
				return nil, err
			}
		}
	case json.Number:
		if strings.Contains(value.String(), "e") {
			return value.Float64()
		}
		return strconv.Atoi(value.String())
	}
	return value, nil
}
