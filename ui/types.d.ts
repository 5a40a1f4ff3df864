// What the server answers, as types; read by the type checker alone.

interface SourceInfo {
  name: string;
  path: string;
  report: boolean;
  grows: boolean;
  version: number;
}

interface Sources {
  recordings: SourceInfo[];
  shown: number[];
  version: string;
}

interface RowInfo {
  row: number;
  kind: "cpu" | "irq" | "thread" | "slices";
  running_ns: number;
  waiting_ns: number;
  segments: number;
  cpu?: number;
  tid?: number;
  pid?: number;
  name?: string;
  marked?: number;
  marks?: number;
  /** Of slices: the row below which they stand, and in how many others they are. */
  below?: number | null;
  depth?: number;
}

interface RecordingInfo {
  version: number;
  from_ns: number;
  duration_ns: number;
  began_unix_ms: number | null;
  events: number;
  switches: number;
  lost: number;
  /** Processor, from, to, lost events. */
  gaps: [number, number, number, number][];
  gaps_all: number;
  /** Gaps in which events were lost. */
  gaps_lost: number;
  /** Stretches for which nothing was to be recorded. */
  pauses: number;
  names: string[];
  conditions: [string, string][];
  problems: string[];
  /** Whether the file is still being written. */
  in_progress: boolean;
  rows: RowInfo[];
}

interface JobBrief {
  job: number;
  release: number;
  finish: number;
  deadline: number | null;
  late: number | null;
  cycle: number | null;
  whole: boolean;
}

interface Delay {
  kind: string;
  /** The culprit, as in the report. */
  who: unknown;
  /** The row of the culprit. */
  by: number | null;
  ns: number;
  /** How long, in which way, and by which culprit. */
  words: string;
}

interface Job extends JobBrief {
  /** Its number, from 0, as the figures count. */
  number: number;
  /** How many jobs it is: the ends of those that follow each other without a sleep may not be known. */
  jobs: number;
  /** The task that marked it. */
  task: string | null;
  response: number;
  running: number;
  /** While its processor served interrupts. */
  interrupted: number;
  waiting: number;
  blocked: number;
  asleep: number;
  unknown: number;
  woken_by: number;
  delays: Delay[];
  /** Where its time went, in one sentence. */
  words: string | null;
  /** From, length, state, key. */
  pieces: [number, number, number, number][];
}

interface JobAnswer {
  /** Those that can be looked at. */
  count: number;
  /** All jobs of the row. */
  all: number;
  job: Job | null;
  median: Job | null;
  slowest: number | null;
}

interface SliceAnswer {
  /** The name, by its place among the names, and the ends. */
  slice: { name: number; from: number; to: number } | null;
}

interface RowDetails {
  jobs: JobBrief[];
  marks: [number, number][];
  /** When it was woken, and the row of the thread that did it. */
  wakes: [number, number][];
}

interface FoundPlace {
  at: number;
  row: number;
  /** The mark, by its place among the names. */
  mark: number | null;
  /** The state that begins, and its key. */
  state: number | null;
  key: number | null;
}

interface Found {
  places: FoundPlace[];
  /** Whether there are more. */
  more: boolean;
}

interface RangeThread {
  row: number;
  running: number;
  waiting: number;
  blocked: number;
  unknown: number;
  /** Jobs that lie whole in the range. */
  jobs: number;
  execution_mean: number | null;
  execution_max: number;
}

interface RangeAnswer {
  cpus: { row: number; running: number }[];
  threads: RangeThread[];
  /** All threads that ran or waited. */
  count: number;
}

interface Distribution {
  count: number;
  min: number;
  mean: number;
  p50: number;
  p99: number;
  max: number;
}

/** What `hemiola universe view` answers; times are nanoseconds. */
interface UniverseAnswer {
  name: string;
  phase_names: string[];
  pace: UniversePace;
  status: UniverseStatus;
}

interface UniversePace {
  period: number | null;
  /** From the first release. */
  elapsed: number;
  late: number;
  skipped: number;
  /** The time in each phase, over all steps. */
  phases: number[];
}

interface UniverseStatus {
  universe: string;
  definition: number;
  step: number;
  entities: number;
  monitors: { monitor: string; sent: number; outside: number; unchanged: number; faults: number; held: number }[];
  /** Bytes of a row of each monitor. */
  row_lens: number[];
  last: { step: number; what: string; no_way_back: string | null } | null;
}

interface UniverseDefinition {
  universe: string;
  definition: number;
  constants: string[];
  functions: string[];
  elements: ElementInfo[];
  left_out: number;
  next: number | null;
}

interface ElementInfo {
  number: number;
  name: string;
  base: string | null;
  entities: number;
  row_len: number;
  properties: string[];
  functions: string[];
  columns: ColumnInfo[];
}

interface ColumnInfo {
  number: number;
  name: string;
  ty: string;
}

interface SampleInfo {
  definition: number;
  /** After which the first and the last row were copied. */
  steps: [number, number];
  rows: number;
  chosen: number;
  stride: number;
  waited_ns: number;
}
