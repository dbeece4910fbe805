// Draws a dashboard of deploy/chart/rivulet/files/dashboards with Grafana's own components, from answers of Prometheus that
// deploy/prometheus_test.go has saved: each panel where its gridPos says, with its title, unit, legend and thresholds.
// What a Grafana server does beyond that (its bar, its variables, its queries) is not here.
import {
  createTheme, DataFrame, EventBusSrv, FieldConfigSource, FieldDisplay, fieldMatchers, FieldType, getDisplayProcessor,
  getFieldDisplayValues, dateTime, ThemeContext, toDataFrame,
} from '@grafana/data';
import {
  BigValue, BigValueColorMode, BigValueGraphMode, BigValueTextMode, GlobalStyles, PanelChrome, PanelContextProvider,
  TimeSeries, VizRepeater, VizRepeaterRenderValueProps,
} from '@grafana/ui';
import { DashboardCursorSync, GraphDrawStyle, StackingMode, VisibilityMode, VizOrientation } from '@grafana/schema';
import { createRoot } from 'react-dom/client';
import answers from './answers.json';
import model from './model.json';
import stream from './stream.json';

type Labels = Record<string, string>;
type Series = { metric: Labels; values: Array<[number, string]> };
type Target = { refId: string; expr: string; legendFormat: string };
type Panel = {
  id: number; type: string; title: string; description?: string; targets?: Target[]; fieldConfig: FieldConfigSource;
  options: any; gridPos: { x: number; y: number; w: number; h: number };
};

const saved = answers as unknown as { from: number; to: number; step: number; series: Record<string, Series[]> };
const theme = createTheme({ colors: { mode: 'light' } });
const timeZone = 'utc';

// The grid of Grafana's dashboards: 24 columns, rows of 30 pixels, 8 pixels between panels.
const width = 1440, gap = 8, cell = 30;
const column = (width - gap) / 24;

// The defaults of Grafana's panel "Time series", for what a dashboard leaves out.
const line = {
  drawStyle: GraphDrawStyle.Line, lineWidth: 1, fillOpacity: 0, showPoints: VisibilityMode.Auto, pointSize: 5,
  stacking: { mode: StackingMode.None, group: 'A' }, spanNulls: false,
};

// legend fills in a series' labels, as Grafana's data source of Prometheus does.
function legend(format: string, labels: Labels): string {
  return format.replace(/\{\{\s*(.+?)\s*\}\}/g, (_, name) => labels[name] ?? '');
}

// frames returns the answers to a panel's queries, a frame a series, with the panel's settings of fields.
function frames(panel: Panel): DataFrame[] {
  const all = (panel.targets ?? []).flatMap((target) => {
    const series = saved.series[target.expr];
    if (!series) {
      throw new Error(`${panel.title}: Prometheus was not asked ${target.expr}`);
    }
    return series.map((one) => toDataFrame({
      refId: target.refId,
      fields: [
        { name: 'Time', type: FieldType.time, values: one.values.map(([time]) => time * 1000), config: { interval: saved.step * 1000 } },
        {
          name: 'Value', type: FieldType.number, labels: one.metric, values: one.values.map(([, value]) => Number(value)),
          config: { displayNameFromDS: legend(target.legendFormat, one.metric) },
        },
      ],
    }));
  });
  const { defaults, overrides } = panel.fieldConfig;
  all.forEach((frame, i) => {
    const field = frame.fields[1];
    const config: any = { color: { mode: 'palette-classic' }, ...field.config, ...defaults, custom: { ...line, ...defaults.custom } };
    for (const { matcher, properties } of overrides) {
      if (fieldMatchers.get(matcher.id).get(matcher.options)(field, frame, all)) {
        for (const { id, value } of properties) {
          const [first, second] = id.split('.');
          second ? (config[first] = { ...config[first], [second]: value }) : (config[first] = value);
        }
      }
    }
    field.config = config;
    field.state = { seriesIndex: i };
    frame.fields.forEach((f) => (f.display = getDisplayProcessor({ field: f, theme, timeZone })));
  });
  return all;
}

function Graph({ panel, data, width, height }: { panel: Panel; data: DataFrame[]; width: number; height: number }) {
  const [from, to] = [dateTime(saved.from * 1000), dateTime(saved.to * 1000)];
  return (
    <PanelContextProvider value={{ eventBus: new EventBusSrv(), eventsScope: 'global', sync: () => DashboardCursorSync.Off } as any}>
      <TimeSeries
        frames={data} width={width} height={height} timeZone={timeZone} options={panel.options}
        legend={{ showLegend: true, calcs: [], ...panel.options.legend }}
        timeRange={{ from, to, raw: { from, to } }}
      />
    </PanelContextProvider>
  );
}

function Stat({ panel, data, width, height }: { panel: Panel; data: DataFrame[]; width: number; height: number }) {
  const { options } = panel;
  const values = () => getFieldDisplayValues({
    fieldConfig: { defaults: {}, overrides: [] }, reduceOptions: { values: false, ...options.reduceOptions },
    replaceVariables: (text) => text, theme, data, timeZone, sparkline: options.graphMode !== 'none',
  });
  return (
    <VizRepeater
      getValues={values} source={data} width={width} height={height} itemSpacing={3} orientation={VizOrientation.Auto}
      autoGrid minVizWidth={0} minVizHeight={0} renderCounter={0}
      renderValue={({ value, width, height, count }: VizRepeaterRenderValueProps<FieldDisplay>) => (
        <BigValue
          value={value.display} count={count} width={width} height={height} theme={theme} sparkline={value.sparkline}
          colorMode={options.colorMode ?? BigValueColorMode.Value} graphMode={options.graphMode ?? BigValueGraphMode.Area}
          textMode={options.textMode ?? BigValueTextMode.Auto}
        />
      )}
    />
  );
}

const drawings: Record<string, typeof Graph> = { timeseries: Graph, stat: Stat };

function Drawn({ panel }: { panel: Panel }) {
  const { x, y, w, h } = panel.gridPos;
  const place = {
    position: 'absolute' as const, left: gap + x * column, top: y * (cell + gap), width: w * column - gap, height: h * (cell + gap) - gap,
  };
  if (panel.type === 'row') {
    return <h2 className="heading" style={{ ...place, ...theme.typography.h5, lineHeight: `${cell}px` }}>{panel.title}</h2>;
  }
  const Drawing = drawings[panel.type];
  if (!Drawing) {
    throw new Error(`${panel.title}: no component draws panels of type ${panel.type}`);
  }
  const data = frames(panel);
  return (
    <div className="panel" style={place}>
      <PanelChrome title={panel.title} description={panel.description} width={place.width} height={place.height}>
        {(width, height) => data.some((frame) => frame.length > 0)
          ? <Drawing panel={panel} data={data} width={width} height={height} />
          : <div className="empty" style={{ ...theme.typography.h4, textAlign: 'center', lineHeight: `${height}px` }}>No data</div>}
      </PanelChrome>
    </div>
  );
}

const dashboard = ({ stream, model } as Record<string, any>)[new URLSearchParams(location.search).get('dashboard') ?? 'stream'];
const panels = dashboard.panels as Panel[];
const rows = Math.max(...panels.map(({ gridPos: { y, h } }) => y + h));
document.title = dashboard.title;
createRoot(document.getElementById('root')!).render(
  <ThemeContext.Provider value={theme}>
    <GlobalStyles />
    <h1 style={{ ...theme.typography.h3, margin: gap }}>{dashboard.title}</h1>
    <div style={{ position: 'relative', width, height: rows * (cell + gap) + gap }}>
      {panels.map((panel) => <Drawn key={panel.id} panel={panel} />)}
    </div>
  </ThemeContext.Provider>
);
