package peer;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.state.ListState;
import org.apache.flink.api.common.state.ListStateDescriptor;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.streaming.api.functions.co.KeyedCoProcessFunction;
import org.apache.flink.util.Collector;
import org.apache.flink.util.OutputTag;

/** Two hops from keyed state: nodes of T are state, keyed by id; questions travel to them, and answers to the arrival. */
final class Neighbourhood {
    static final int SECOND = 10; // neighbours of a neighbour
    static final OutputTag<Messages.Ask> FURTHER = new OutputTag<>("further") {};

    private Neighbourhood() {}

    /** A node answers with its features; with further, it asks ten of its neighbours, too. Questions that come before the node wait. */
    static final class Hop extends KeyedCoProcessFunction<Integer, Messages.Node, Messages.Ask, Messages.Part> {
        private final boolean further;
        private transient ValueState<Messages.Node> node;
        private transient ListState<Messages.Ask> early;

        Hop(boolean further) {
            this.further = further;
        }

        @Override
        public void open(OpenContext context) {
            node = getRuntimeContext().getState(new ValueStateDescriptor<>("node", Messages.Node.class));
            early = getRuntimeContext().getListState(new ListStateDescriptor<>("early", Messages.Ask.class));
        }

        @Override
        public void processElement1(Messages.Node value, Context context, Collector<Messages.Part> out) throws Exception {
            if (!further) {
                value.neighbours = new int[0];
            }
            node.update(value);
            for (Messages.Ask ask : early.get()) {
                answer(value, ask, context, out);
            }
            early.clear();
        }

        @Override
        public void processElement2(Messages.Ask ask, Context context, Collector<Messages.Part> out) throws Exception {
            Messages.Node value = node.value();
            if (value == null) {
                early.add(ask);
                return;
            }
            answer(value, ask, context, out);
        }

        private void answer(Messages.Node value, Messages.Ask ask, Context context, Collector<Messages.Part> out) {
            Messages.Part part = new Messages.Part();
            part.arrival = ask.arrival;
            part.slot = ask.slot;
            part.features = value.features;
            part.asked = further ? Math.min(SECOND, value.neighbours.length) : -1;
            out.collect(part);
            for (int i = 0; i < part.asked; i++) {
                int j = ThreadLocalRandom.current().nextInt(i, value.neighbours.length);
                int id = value.neighbours[j];
                value.neighbours[j] = value.neighbours[i];
                value.neighbours[i] = id;
                Messages.Ask next = new Messages.Ask();
                next.node = id;
                next.arrival = ask.arrival;
                next.slot = ask.slot;
                context.output(FURTHER, next);
            }
        }
    }

    /** Gathers an arrival's parts, and lets it go when all are there. The parts are a list, which RocksDB appends to without reading it. */
    static final class Gather extends KeyedCoProcessFunction<String, Messages.Arrival, Messages.Part, Messages.Request> {
        private transient ValueState<Messages.Arrival> arrival;
        private transient ListState<Messages.Part> parts;
        private transient ValueState<int[]> missing; // neighbours that have not answered, and parts of the second hop that are due or, below 0, early

        @Override
        public void open(OpenContext context) {
            arrival = getRuntimeContext().getState(new ValueStateDescriptor<>("arrival", Messages.Arrival.class));
            parts = getRuntimeContext().getListState(new ListStateDescriptor<>("parts", Messages.Part.class));
            missing = getRuntimeContext().getState(new ValueStateDescriptor<>("missing", int[].class));
        }

        @Override
        public void processElement1(Messages.Arrival value, Context context, Collector<Messages.Request> out) throws Exception {
            arrival.update(value);
            count(value.neighbours.length, 0, out);
        }

        @Override
        public void processElement2(Messages.Part part, Context context, Collector<Messages.Request> out) throws Exception {
            parts.add(part);
            count(part.asked < 0 ? 0 : -1, part.asked < 0 ? -1 : part.asked, out);
        }

        private void count(int first, int second, Collector<Messages.Request> out) throws Exception {
            int[] left = missing.value();
            left = left == null ? new int[2] : left;
            left[0] += first;
            left[1] += second;
            missing.update(left);
            if (left[0] != 0 || left[1] != 0) {
                return;
            }
            Messages.Arrival value = arrival.value();
            if (value == null) {
                return; // its parts so far are whole, and itself is under way
            }
            out.collect(request(value, parts.get()));
            arrival.clear();
            parts.clear();
            missing.clear();
        }

        private static Messages.Request request(Messages.Arrival arrival, Iterable<Messages.Part> parts) {
            int d = arrival.features.length;
            int k = arrival.neighbours.length;
            Messages.Request request = new Messages.Request();
            request.id = arrival.id;
            request.features = arrival.features;
            request.neighbours = arrival.neighbours;
            request.first = new float[k * d];
            request.second = new float[k * d];
            int[] counts = new int[k];
            List<Messages.Part> second = new ArrayList<>();
            for (Messages.Part part : parts) {
                if (part.asked >= 0) {
                    System.arraycopy(part.features, 0, request.first, part.slot * d, d);
                    counts[part.slot] = part.asked;
                } else {
                    second.add(part);
                }
            }
            for (Messages.Part part : second) {
                float share = 1f / counts[part.slot];
                for (int i = 0, at = part.slot * d; i < d; i++) {
                    request.second[at + i] += share * part.features[i];
                }
            }
            return request;
        }
    }
}
