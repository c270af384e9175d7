import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';

/** One metric, as data for the metric itself and its line in the reference page. */
export interface MetricDefinition {
  readonly name: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly help: string;
  readonly labels?: readonly string[];
  /** Upper bounds, of a histogram, in the unit of the name. */
  readonly buckets?: readonly number[];
}

/** By the metric's name in the code. */
export type MetricDefinitions = Readonly<Record<string, MetricDefinition>>;

type LabelsOf<M extends MetricDefinition> = M['labels'] extends readonly (infer L extends string)[] ? L : never;

type LabelValues<M extends MetricDefinition> = Readonly<Record<LabelsOf<M>, string>>;

/** The labels come first and are left out where a metric has none. */
type WithLabels<M extends MetricDefinition, Rest extends readonly unknown[]> = [LabelsOf<M>] extends [never]
  ? Rest
  : [labels: LabelValues<M>, ...rest: Rest];

export interface CounterOf<M extends MetricDefinition> {
  /** Adds `by`, default 1. */
  add(...args: WithLabels<M, [by?: number]>): void;
}

export interface GaugeOf<M extends MetricDefinition> {
  set(...args: WithLabels<M, [value: number]>): void;
  /** Removes the series of these labels. */
  remove(...args: WithLabels<M, []>): void;
  /** Removes all series. */
  reset(): void;
  /** `run` is called before every scrape, to set values that are cheaper to read than to maintain. */
  collect(run: () => void): void;
}

export interface HistogramOf<M extends MetricDefinition> {
  observe(...args: WithLabels<M, [value: number]>): void;
}

export type MetricsOf<D extends MetricDefinitions> = {
  readonly [K in keyof D]: D[K]['type'] extends 'counter'
    ? CounterOf<D[K]>
    : D[K]['type'] extends 'gauge'
      ? GaugeOf<D[K]>
      : HistogramOf<D[K]>;
};

/** The metrics of one process, in Prometheus' text form. */
export interface MetricRegistry {
  /** Registers a set of metrics. Throws when a name is taken or a definition is invalid. */
  define<D extends MetricDefinitions>(definitions: D): MetricsOf<D>;
  /** The exposition text. */
  text(): Promise<string>;
  readonly contentType: string;
}

const nameRule = /^[a-z][a-z0-9_]*$/;

/** Defines a set of metrics with their exact types. Throws a RangeError when a definition contradicts itself. */
export function defineMetrics<const D extends MetricDefinitions>(definitions: D): D {
  for (const { name, type, buckets, help } of Object.values<MetricDefinition>(definitions)) {
    if (!nameRule.test(name)) throw new RangeError(`metric ${JSON.stringify(name)}: expected snake_case`);
    if (help === '') throw new RangeError(`metric ${name}: help is empty`);
    if ((type === 'histogram') !== (buckets !== undefined)) {
      throw new RangeError(`metric ${name}: buckets belong to a histogram, and a histogram needs them`);
    }
  }
  return definitions;
}

/** How often the lag of the event loop is sampled: the default of 10 ms wakes an idle process 100 times a second. */
const lagSampleMs = 100;

/**
 * The standard `process_*` and `nodejs_*` metrics. It observes the process until that ends: create one for each
 * process, and give it to its registries.
 */
export function createStandardMetrics(): StandardMetrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: lagSampleMs });
  return { text: () => registry.metrics() };
}

export type StandardMetrics = Pick<MetricRegistry, 'text'>;

/** Creates an empty registry. There is no global one. @param standard follow in the text */
export function createMetricRegistry(standard?: StandardMetrics): MetricRegistry {
  const registry = new Registry();
  return {
    define<D extends MetricDefinitions>(definitions: D): MetricsOf<D> {
      const metrics: Record<string, unknown> = {};
      for (const [key, definition] of Object.entries<MetricDefinition>(definitions)) {
        metrics[key] = create(registry, definition);
      }
      return metrics as MetricsOf<D>;
    },
    text: async () => `${await registry.metrics()}${(await standard?.text()) ?? ''}`,
    contentType: registry.contentType,
  };
}

function create(registry: Registry, definition: MetricDefinition): unknown {
  const { name, help, labels = [], buckets = [] } = definition;
  const common = { name, help, labelNames: [...labels], registers: [registry] };
  const split = (args: readonly unknown[]) => {
    const [values, ...rest] = labels.length === 0 ? [{}, ...args] : args;
    return { values: values as Record<string, string>, number: rest[0] as number | undefined };
  };
  switch (definition.type) {
    case 'counter': {
      const counter = new Counter(common);
      return {
        add(...args: readonly unknown[]) {
          const { values, number } = split(args);
          counter.inc(values, number ?? 1);
        },
      };
    }
    case 'gauge': {
      const collectors: (() => void)[] = [];
      const gauge = new Gauge({
        ...common,
        collect() {
          for (const collector of collectors) collector();
        },
      });
      return {
        set(...args: readonly unknown[]) {
          const { values, number } = split(args);
          gauge.set(values, number ?? 0);
        },
        remove(...args: readonly unknown[]) {
          gauge.remove(split(args).values);
        },
        reset: () => gauge.reset(),
        collect: (run: () => void) => collectors.push(run),
      };
    }
    case 'histogram': {
      const histogram = new Histogram({ ...common, buckets: [...buckets] });
      return {
        observe(...args: readonly unknown[]) {
          const { values, number } = split(args);
          histogram.observe(values, number ?? 0);
        },
      };
    }
  }
}
