// Numbers and times in words.

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const tenth = new Intl.NumberFormat("en", { maximumFractionDigits: 1, minimumFractionDigits: 1 });
const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const day = new Intl.DateTimeFormat("en-GB", { year: "numeric", month: "short", day: "numeric", hour: "2-digit", minute: "2-digit", second: "2-digit" });

export const none = "–";

export const count = (n) => (n === null || n === undefined ? none : whole.format(n));

export function rate(n) {
  if (n === null || n === undefined) return none;
  return n > 0 && n < 10 ? tenth.format(n) : whole.format(n);
}

// duration is of milliseconds.
export function duration(ms) {
  if (ms === null || ms === undefined || ms < 0) return none;
  if (ms < 10) return ms.toFixed(1) + " ms";
  if (ms < 1000) return Math.round(ms) + " ms";
  if (ms < 60_000) return (ms / 1000).toFixed(1) + " s";
  return Math.round(ms / 60_000) + " min";
}

export const percent = (x) => (x === null || x === undefined ? none : (100 * x).toFixed(1) + "%");

export const time = (ms) => (ms ? clock.format(ms) : none);

// date is a time with its day, unless that is today.
export function date(ms) {
  if (!ms) return none;
  return (new Date(ms).toDateString() === new Date().toDateString() ? clock : day).format(ms);
}

export function ago(ms, now) {
  const seconds = Math.max(0, Math.round((now - ms) / 1000));
  if (seconds < 90) return seconds + " s ago";
  if (seconds < 5400) return Math.round(seconds / 60) + " min ago";
  if (seconds < 129_600) return Math.round(seconds / 3600) + " h ago";
  return Math.round(seconds / 86_400) + " days ago";
}

export function bytes(n) {
  if (n < 1024) return n + " B";
  if (n < 1024 ** 2) return (n / 1024).toFixed(1) + " KiB";
  return (n / 1024 ** 2).toFixed(1) + " MiB";
}

// signed is a figure of logits.
export const signed = (x) => (x < 0 ? "−" : "+") + Math.abs(x).toFixed(3);

// className names a class: by its name, and one whose name is a number as such.
export function className(c) {
  const name = String(c.class_name ?? c.name ?? "");
  return name === "" || /^\d+$/.test(name) ? "class " + (name || c.class) : name;
}

// colour of a class by its number; those beyond ten share one, so the name always stands beside it.
export const colour = (k) => (k >= 0 && k < 10 ? `var(--c${k})` : "var(--other)");
