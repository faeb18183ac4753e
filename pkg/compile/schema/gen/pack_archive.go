package main

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"encoding/json"
	"io"
	"maps"
	"slices"

	"lockstep.dev/lockstep/pkg/compile/schema/shape"
)

// packArchive returns the archive: one file of JSON per table.
func packArchive(tables map[string]*shape.Table) ([]byte, error) {
	var data bytes.Buffer
	writer := zip.NewWriter(&data)
	writer.RegisterCompressor(zip.Deflate, func(out io.Writer) (io.WriteCloser, error) {
		return flate.NewWriter(out, flate.BestCompression)
	})
	for _, name := range slices.Sorted(maps.Keys(tables)) {
		file, err := writer.Create(name)
		if err != nil {
			return nil, err
		}
		if err := json.NewEncoder(file).Encode(tables[name]); err != nil {
			return nil, err
		}
	}
	if err := writer.Close(); err != nil {
		return nil, err
	}
	return data.Bytes(), nil
}
