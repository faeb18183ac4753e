// Package mixin holds alerts and dashboards for Prometheus and Grafana in the form that those read. They work without the compiler; it writes
// them into the platform of a cluster whose spec asks for them.
package mixin

import "embed"

// Alerts are rule files of Prometheus, in the folder alerts.
//
//go:embed alerts/*.yaml
var Alerts embed.FS

// Dashboards are dashboards of Grafana, in the folder dashboards.
//
//go:embed dashboards/*.json
var Dashboards embed.FS
