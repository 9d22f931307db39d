import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.TreeMap;
import java.util.concurrent.Callable;

import org.apache.paimon.catalog.Catalog;
import org.apache.paimon.catalog.CatalogContext;
import org.apache.paimon.catalog.CatalogFactory;
import org.apache.paimon.catalog.Identifier;
import org.apache.paimon.catalog.PropertyChange;
import org.apache.paimon.data.BinaryString;
import org.apache.paimon.data.GenericRow;
import org.apache.paimon.data.InternalRow;
import org.apache.paimon.options.Options;
import org.apache.paimon.reader.RecordReaderIterator;
import org.apache.paimon.schema.Schema;
import org.apache.paimon.schema.SchemaChange;
import org.apache.paimon.table.Table;
import org.apache.paimon.table.sink.BatchTableCommit;
import org.apache.paimon.table.sink.BatchTableWrite;
import org.apache.paimon.table.sink.BatchWriteBuilder;
import org.apache.paimon.table.source.ReadBuilder;
import org.apache.paimon.types.DataTypes;
import org.apache.paimon.types.RowType;
import org.apache.paimon.view.ViewImpl;

/**
 * Does with a catalog what it is told, a line each: words with tabs between. Answers a line: "ok" and words, or "error"
 * and what went wrong. First it opens a catalog by its options; its tables have the columns id (the primary key) and v.
 */
public class CatalogServer {
    public static void main(String[] unused) throws Exception {
        System.setProperty("slf4j.internal.verbosity", "ERROR");
        BufferedReader requests = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream answers = new PrintStream(System.out, true, "UTF-8");
        System.setOut(System.err);
        Catalog catalog = null;
        for (String line = requests.readLine(); line != null; line = requests.readLine()) {
            try {
                String[] words = line.split("\t", -1);
                if (words[0].equals("open")) {
                    catalog = opened(words);
                    answers.println("ok");
                } else {
                    answers.println(String.join("\t", prepended("ok", run(catalog, words, answers))));
                }
            } catch (Throwable error) {
                StringBuilder causes = new StringBuilder("error");
                for (Throwable cause = error; cause != null; cause = cause.getCause()) {
                    causes.append('\t').append(cause.toString().replaceAll("\\s+", " "));
                }
                answers.println(causes);
            }
        }
    }

    private static Catalog opened(String[] words) {
        Options options = new Options();
        options.set("cache-enabled", "false");
        for (int i = 1; i < words.length; i++) {
            String[] pair = words[i].split("=", 2);
            options.set(pair[0], pair[1]);
        }
        return CatalogFactory.createCatalog(CatalogContext.create(options));
    }

    static List<String> run(Catalog catalog, String[] words, PrintStream answers) throws Exception {
        switch (words[0]) {
            case "databases":
                return sorted(catalog.listDatabases());
            case "tables":
                return sorted(catalog.listTables(words[1]));
            case "properties":
                return pairs(new TreeMap<>(catalog.getDatabase(words[1]).options()));
            case "create database":
                catalog.createDatabase(words[1], false, Collections.singletonMap("k", "v"));
                return Collections.emptyList();
            case "alter database":
                catalog.alterDatabase(
                        words[1], Collections.singletonList(PropertyChange.setProperty(words[2], words[3])), false);
                return Collections.emptyList();
            case "drop database":
                catalog.dropDatabase(words[1], false, true);
                return Collections.emptyList();
            case "create":
                Schema.Builder schema =
                        Schema.newBuilder()
                                .column("id", DataTypes.INT().notNull())
                                .column("v", DataTypes.STRING())
                                .primaryKey("id")
                                .option("bucket", "1");
                catalog.createTable(name(words[1]), schema.build(), false);
                return Collections.emptyList();
            case "create partitioned":
                Schema.Builder partitioned =
                        Schema.newBuilder()
                                .column("id", DataTypes.INT())
                                .column("v", DataTypes.STRING(), "what it is")
                                .column("dt", DataTypes.STRING())
                                .column("at", DataTypes.TIMESTAMP_WITH_LOCAL_TIME_ZONE(3))
                                .column("price", DataTypes.DECIMAL(10, 2))
                                .column("parts", DataTypes.MAP(DataTypes.STRING(), DataTypes.ARRAY(DataTypes.TIME())))
                                .partitionKeys("dt")
                                .option("metastore.partitioned-table", "true")
                                .comment("all of it");
                for (int i = 2; i < words.length; i += 2) {
                    partitioned.option(words[i], words[i + 1]);
                }
                catalog.createTable(name(words[1]), partitioned.build(), false);
                return Collections.emptyList();
            case "write partition":
                writePartition(catalog.getTable(name(words[1])), words[2]);
                return Collections.emptyList();
            case "views":
                return sorted(catalog.listViews(words[1]));
            case "view":
                return Collections.singletonList(catalog.getView(name(words[1])).query());
            case "create view":
                RowType row = RowType.of(DataTypes.INT());
                catalog.createView(
                        name(words[1]),
                        new ViewImpl(
                                name(words[1]),
                                row.getFields(),
                                words[2],
                                Collections.emptyMap(),
                                "theirs",
                                Collections.emptyMap()),
                        false);
                return Collections.emptyList();
            case "rename":
                catalog.renameTable(name(words[1]), name(words[2]), false);
                return Collections.emptyList();
            case "alter":
                catalog.alterTable(
                        name(words[1]), Collections.singletonList(SchemaChange.setOption(words[2], words[3])), false);
                return Collections.emptyList();
            case "drop":
                catalog.dropTable(name(words[1]), false);
                return Collections.emptyList();
            case "options":
                return pairs(new TreeMap<>(catalog.getTable(name(words[1])).options()));
            case "repair":
                catalog.repairCatalog();
                return Collections.emptyList();
            case "write":
                int from = Integer.parseInt(words[2]);
                for (int i = from; i < from + Integer.parseInt(words[3]); i++) {
                    write(catalog.getTable(name(words[1])), i, words[4]);
                }
                return Collections.emptyList();
            case "read":
                return read(catalog.getTable(name(words[1])));
            case "lock":
                Callable<Object> wait =
                        () -> {
                            answers.println("held");
                            Thread.sleep(Long.parseLong(words[2]));
                            return null;
                        };
                catalog.getClass()
                        .getMethod("runWithLock", Identifier.class, Callable.class)
                        .invoke(catalog, name(words[1]), wait);
                return Collections.emptyList();
            default:
                throw new IllegalArgumentException(words[0]);
        }
    }

    private static void write(Table table, int id, String value) throws Exception {
        BatchWriteBuilder builder = table.newBatchWriteBuilder();
        try (BatchTableWrite write = builder.newWrite();
                BatchTableCommit commit = builder.newCommit()) {
            write.write(GenericRow.of(id, BinaryString.fromString(value)));
            commit.commit(write.prepareCommit());
        }
    }

    private static void writePartition(Table table, String partition) throws Exception {
        BatchWriteBuilder builder = table.newBatchWriteBuilder();
        try (BatchTableWrite write = builder.newWrite();
                BatchTableCommit commit = builder.newCommit()) {
            write.write(
                    GenericRow.of(
                            1, BinaryString.fromString("java"), BinaryString.fromString(partition), null, null, null));
            commit.commit(write.prepareCommit());
        }
    }

    private static List<String> read(Table table) throws Exception {
        ReadBuilder builder = table.newReadBuilder();
        List<String> rows = new ArrayList<>();
        try (RecordReaderIterator<InternalRow> found =
                new RecordReaderIterator<>(builder.newRead().createReader(builder.newScan().plan()))) {
            while (found.hasNext()) {
                InternalRow row = found.next();
                rows.add(row.getInt(0) + "=" + row.getString(1));
            }
        }
        return sorted(rows);
    }

    static Identifier name(String text) {
        return Identifier.fromString(text);
    }

    private static List<String> pairs(TreeMap<String, String> map) {
        List<String> found = new ArrayList<>();
        map.forEach((key, value) -> found.add(key + "=" + value));
        return found;
    }

    static List<String> sorted(List<String> words) {
        List<String> found = new ArrayList<>(words);
        Collections.sort(found);
        return found;
    }

    private static List<String> prepended(String word, List<String> words) {
        List<String> all = new ArrayList<>();
        all.add(word);
        all.addAll(words);
        return all;
    }
}
