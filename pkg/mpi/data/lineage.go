package data

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	jobv1 "lockstep.dev/lockstep/api/job/v1"
	"lockstep.dev/lockstep/pkg/mpi"
)

// producer names us in events of OpenLineage.
const producer = "https://lockstep.dev/lockstep"

// Schemas of OpenLineage.
const (
	lineageSpec     = "https://openlineage.io/spec/"
	runEvent        = lineageSpec + "2-0-2/OpenLineage.json#/$defs/RunEvent"
	jobTypeFacet    = lineageSpec + "facets/2-0-4/JobTypeJobFacet.json#/$defs/JobTypeJobFacet"
	versionFacet    = lineageSpec + "facets/1-0-1/DatasetVersionDatasetFacet.json#/$defs/DatasetVersionDatasetFacet"
	statisticsFacet = lineageSpec + "facets/1-0-2/OutputStatisticsOutputDatasetFacet.json" +
		"#/$defs/OutputStatisticsOutputDatasetFacet"
)

// object is an object of JSON.
type object map[string]any

// lineage is the event of OpenLineage for the run of a job: what it read, and what is at the destination now.
func lineage(m jobv1.Manifest, copied mpi.FetchReport, to string) object {
	kind := "COMPLETE"
	if m.Phase != jobv1.Complete {
		kind = "FAIL"
	}
	inputs := []object{}
	for _, in := range m.Inputs {
		inputs = append(inputs, withVersion(dataset(in.URI), in.Digest))
	}
	output := dataset(to)
	output["outputFacets"] = object{"outputStatistics": facet(statisticsFacet, object{
		"size": copied.Bytes, "fileCount": copied.Files,
	})}
	return object{
		"eventType": kind, "eventTime": m.Ended, "producer": producer, "schemaURL": runEvent,
		"run": object{"runId": m.UID},
		"job": object{"namespace": m.Namespace, "name": m.Job, "facets": object{
			"jobType": facet(jobTypeFacet, object{"processingType": "BATCH", "integration": "LOCKSTEP", "jobType": "TRAINJOB"}),
		}},
		"inputs": inputs, "outputs": []object{output},
	}
}

func facet(schema string, fields object) object {
	fields["_producer"], fields["_schemaURL"] = producer, schema
	return fields
}

// dataset names data as OpenLineage does: s3://BUCKET is the namespace of a bucket, and the path the name.
func dataset(uri string) object {
	at, err := url.Parse(uri)
	if err != nil {
		return object{"namespace": "file", "name": uri}
	}
	return object{"namespace": at.Scheme + "://" + at.Host, "name": cmp.Or(strings.Trim(at.Path, "/"), "/")}
}

func withVersion(of object, digest string) object {
	if digest != "" {
		of["facets"] = object{"version": facet(versionFacet, object{"datasetVersion": digest})}
	}
	return of
}

// sendLineage sends the event of a copy to the service that the variables of OpenLineage's own clients name; without
// one it does nothing.
func sendLineage(
	ctx context.Context, m jobv1.Manifest, copied mpi.FetchReport, to string, variable func(string) string,
) error {
	service := variable("OPENLINEAGE_URL")
	if service == "" {
		return nil
	}
	at, err := url.JoinPath(service, cmp.Or(variable("OPENLINEAGE_ENDPOINT"), "api/v1/lineage"))
	if err != nil {
		return fmt.Errorf("OPENLINEAGE_URL is `%s`: %w", service, err)
	}
	client, err := httpClient(variable("CA_CERTIFICATE"))
	if err != nil {
		return err
	}
	text, err := json.Marshal(lineage(m, copied, to))
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, stall)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, at, bytes.NewReader(text))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	if key := variable("OPENLINEAGE_API_KEY"); key != "" {
		request.Header.Set("Authorization", "Bearer "+key)
	}
	answer, err := client.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode >= http.StatusMultipleChoices {
		return fmt.Errorf("%s: HTTP %s", at, answer.Status)
	}
	return nil
}
