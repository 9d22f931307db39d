import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

import org.apache.paimon.catalog.Catalog;
import org.apache.paimon.catalog.CatalogContext;
import org.apache.paimon.catalog.CatalogFactory;
import org.apache.paimon.catalog.Identifier;
import org.apache.paimon.data.BinaryString;
import org.apache.paimon.fs.Path;
import org.apache.paimon.globalindex.IndexedSplit;
import org.apache.paimon.predicate.Predicate;
import org.apache.paimon.predicate.PredicateBuilder;
import org.apache.paimon.reader.RecordReaderIterator;
import org.apache.paimon.data.InternalRow;
import org.apache.paimon.table.Table;
import org.apache.paimon.table.source.DataSplit;
import org.apache.paimon.table.source.ReadBuilder;
import org.apache.paimon.table.source.Split;
import org.apache.paimon.types.DataType;
import org.apache.paimon.utils.TypeUtils;

/**
 * Reads tables under conditions: each line of standard input is table, column, operator and value with tabs between.
 *
 * The answer to a line is the number of files that the plan leaves, and the first column of the rows that are read, which
 * are not filtered one by one: what files and rows are left out is left out by statistics and indexes.
 */
public class FilteredRead {
    public static void main(String[] arguments) throws Exception {
        System.setProperty("slf4j.internal.verbosity", "ERROR");
        Catalog catalog = CatalogFactory.createCatalog(CatalogContext.create(new Path(arguments[0])));
        for (String line : Files.readAllLines(Paths.get(arguments[1]))) {
            String[] words = line.split("\t", -1);
            Table table = catalog.getTable(Identifier.fromString(words[0]));
            int column = table.rowType().getFieldIndex(words[1]);
            ReadBuilder builder = table.newReadBuilder();
            builder.withFilter(predicate(new PredicateBuilder(table.rowType()), column, words[2],
                    literal(table.rowType().getTypeAt(column), words[3])));
            int files = 0;
            List<Integer> found = new ArrayList<>();
            for (Split split : builder.newScan().plan().splits()) {
                DataSplit held = split instanceof IndexedSplit ? ((IndexedSplit) split).dataSplit() : (DataSplit) split;
                files += held.dataFiles().size();
                try (RecordReaderIterator<InternalRow> rows =
                        new RecordReaderIterator<>(builder.newRead().createReader(split))) {
                    while (rows.hasNext()) {
                        found.add(rows.next().getInt(0));
                    }
                }
            }
            Collections.sort(found);
            System.out.println("[" + files + ", " + found + "]");
        }
    }

    private static Predicate predicate(PredicateBuilder builder, int column, String operator, Object value) {
        switch (operator) {
            case "=":
                return builder.equal(column, value);
            case "!=":
                return builder.notEqual(column, value);
            case "<":
                return builder.lessThan(column, value);
            case "<=":
                return builder.lessOrEqual(column, value);
            case ">":
                return builder.greaterThan(column, value);
            case ">=":
                return builder.greaterOrEqual(column, value);
            default:
                return builder.isNull(column);
        }
    }

    private static Object literal(DataType type, String text) {
        switch (type.getTypeRoot()) {
            case VARCHAR:
                return BinaryString.fromString(text);
            case INTEGER:
                return Integer.parseInt(text);
            case BIGINT:
                return Long.parseLong(text);
            case DOUBLE:
                return Double.parseDouble(text);
            default:
                return TypeUtils.castFromString(text, type);
        }
    }
}
