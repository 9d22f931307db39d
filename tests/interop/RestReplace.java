import java.lang.reflect.Field;
import java.util.HashMap;
import java.util.Map;

import org.apache.paimon.catalog.Catalog;
import org.apache.paimon.catalog.Identifier;
import org.apache.paimon.catalog.TableMetadata;
import org.apache.paimon.rest.RESTCatalogServer;
import org.apache.paimon.schema.Schema;
import org.apache.paimon.schema.TableSchema;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.sink.BatchTableCommit;
import org.apache.paimon.types.RowType;
import org.apache.paimon.utils.JsonSerdeUtil;

/** Replaces a table as servers of newer versions do: it is emptied, and its next schema is the one that is given. */
public class RestReplace {
    @SuppressWarnings("unchecked")
    public static void replace(RESTCatalogServer server, Catalog client, Identifier name, String json)
            throws Exception {
        Schema schema = JsonSerdeUtil.fromJson(json, Schema.class);
        FileStoreTable table = (FileStoreTable) client.getTable(name);
        try (BatchTableCommit commit = table.newBatchWriteBuilder().newCommit()) {
            commit.truncateTable();
        }
        Field field = RESTCatalogServer.class.getDeclaredField("tableMetadataStore");
        field.setAccessible(true);
        Map<String, TableMetadata> tables = (Map<String, TableMetadata>) field.get(server);
        TableMetadata old = tables.get(name.getFullName());
        Map<String, String> options = new HashMap<>(schema.options());
        options.put("path", table.location().toString());
        int highest = RowType.currentHighestFieldId(schema.fields());
        TableSchema made =
                new TableSchema(
                        old.schema().id() + 1,
                        schema.fields(),
                        Math.max(highest, old.schema().highestFieldId()),
                        schema.partitionKeys(),
                        schema.primaryKeys(),
                        options,
                        schema.comment());
        table.schemaManager().commit(made);
        tables.put(name.getFullName(), new TableMetadata(made, old.isExternal(), old.uuid()));
    }
}
